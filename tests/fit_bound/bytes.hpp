// How close products of bytes come to their limits.
#pragma once

#include <cstdint>

namespace headroom::test {

/// Runs as many Gaussian layers as programs, and those programs, with weights of q8 and q4 and
/// prints the largest errors: the limits of `int8` are twice those of the first.
void fit_bytes(std::uint64_t programs);

}  // namespace headroom::test
