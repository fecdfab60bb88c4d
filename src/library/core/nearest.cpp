#include "core/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace headroom {
namespace {

constexpr std::size_t kLeastBeginning = 3;

// Levenshtein distance: insertions, deletions and substitutions cost one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// A name that was begun, or typed in capitals, is nearer than any other.
std::size_t distance_of(const std::string& found, const std::string& name) {
  if (found == name) return 0;
  return found.size() >= kLeastBeginning && name.starts_with(found)
             ? 1
             : 1 + edit_distance(found, name);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view found,
                                        const std::vector<std::string>& allowed) {
  const std::string lower = lower_case(found);
  std::optional<std::string> nearest;
  std::size_t best = 2 + found.size() / 2;  // more than half the word away is no help
  for (const std::string& name : allowed) {
    const std::size_t distance = distance_of(lower, name);
    if (distance >= best) continue;
    best = distance;
    nearest = name;
  }
  return nearest;
}

std::string suggest(std::string_view found, const std::vector<std::string>& allowed) {
  const std::optional<std::string> nearest = nearest_name(found, allowed);
  return fmt::format("{}Allowed: {}", nearest ? fmt::format("did you mean '{}'? ", *nearest) : "",
                     fmt::join(allowed, ", "));
}

}  // namespace headroom
