// Every field that an environment.json may have, and whether a store keeps it: one line each in the
// source. What is in no line is left out as well, and a test fails for a field of ours without one.
#pragma once

#include <span>
#include <string_view>

namespace headroom::store {

/// What may stand at a place.
enum class Kind {
  number,
  flag,      ///< true or false
  word,      ///< one of the program's own, such as `avx512` or a revision
  moment,    ///< such as `2026-11-21T23:10:07Z`
  text,      ///< of anybody: without paths and names
  left_out,  ///< it and all below may say who or where somebody is, or is of no use to others
};

struct Place {
  std::string_view path;  ///< `*` is any plain name, or any place of a list
  Kind kind = Kind::left_out;
};

/// All but roofs and axes.
std::span<const Place> listed_places();

/// By their names, as in `sweep/identity/axes`. Those that hold sizes and names of ours stay.
std::span<const Place> listed_axes();

}  // namespace headroom::store
