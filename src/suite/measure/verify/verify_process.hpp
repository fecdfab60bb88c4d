// The checks of verify in processes of their own, so that a backend that dies ends nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "measure/verify/verify_check.hpp"

namespace headroom::measure {

/// Makes the checks 0 to `count` - 1 in a forked process and hands each to `done`, in order. One
/// that ends its process is `failed` with what it died of; the next go on in a new process.
/// To be called while this process has no other thread: a fork takes along only the calling one.
/// @param check called in the process, where what it keeps for the next one stays
/// @param memory_bytes that a process may take
/// @param stopped asked several times a second; true ends the process at once
/// @throws ResourceError if no process can be made, or as `check` does.
void check_apart(std::size_t count, const std::function<VerifyCheck(std::size_t)>& check,
                 std::int64_t memory_bytes,
                 const std::function<void(std::size_t, const VerifyCheck&)>& done,
                 const std::function<bool()>& stopped);

}  // namespace headroom::measure
