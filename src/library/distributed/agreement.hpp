// What one rank refuses, all refuse, for the same reason.
#pragma once

#include <mpi.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <exception>

#include "headroom/export.h"

namespace headroom::distributed {

/// What an exception was, in a form that goes from rank to rank.
struct Said {
  enum class Fault : std::int32_t {
    none,
    invalid,
    unavailable,
    unsupported,
    resource,
    memory,
    other,
  };
  Fault fault = Fault::none;
  std::int32_t rank = 0;       ///< whose
  std::array<char, 488> text;  ///< ends with a zero; not set without a fault

  bool refuses() const { return fault != Fault::none; }
};

/// The exception that is being handled.
HEADROOM_API Said said_by_exception(int rank);

/// What the work throws on this rank.
template <std::invocable Work>
Said said_by(int rank, const Work& work) {
  Said said;
  said.rank = rank;
  try {
    work();
  } catch (...) {
    said = said_by_exception(rank);
  }
  return said;
}

/// Throws what was said, as the type that it was, naming the rank.
[[noreturn]] HEADROOM_API void raise(const Said& said);

/// Collective: throws on all ranks what the first one that refuses has said.
HEADROOM_API void agree(MPI_Comm all, const Said& own);

/// Collective: whether all ranks bring the same value.
bool same_everywhere(MPI_Comm all, std::uint64_t value);

}  // namespace headroom::distributed
