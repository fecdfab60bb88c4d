// "Did you mean": the nearest valid name to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"

namespace headroom {

/// The name that was probably meant; empty if none is near.
HEADROOM_API std::optional<std::string> nearest_name(std::string_view found,
                                                     const std::vector<std::string>& allowed);

/// Such as `did you mean 'xsimd'? Allowed: naive, autovec, xsimd`. The suggestion is left out if
/// no name is near.
HEADROOM_API std::string suggest(std::string_view found, const std::vector<std::string>& allowed);

/// ASCII letters only; others stay.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& each : lower) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return lower;
}

}  // namespace headroom
