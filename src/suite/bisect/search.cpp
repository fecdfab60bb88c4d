#include "bisect/search.hpp"

#include <set>

namespace headroom::bisect {
namespace {

// The commit between the ends that is nearest to their middle and was not skipped.
std::optional<std::size_t> nearest_to_middle(const Found& found,
                                             const std::set<std::size_t>& skipped) {
  const std::size_t middle = found.last_good + (found.first_bad - found.last_good) / 2;
  for (std::size_t off = 0; off < found.first_bad - found.last_good; ++off) {
    for (const bool later : {false, true}) {
      const std::size_t place = later ? middle + off : middle - off;
      const bool between =
          (later || off <= middle) && place > found.last_good && place < found.first_bad;
      if (between && !skipped.contains(place)) return place;
    }
  }
  return std::nullopt;
}

}  // namespace

Found search(std::size_t count, const Ask& ask) {
  Found found{0, count - 1, false};
  std::set<std::size_t> skipped;
  while (const std::optional<std::size_t> next = nearest_to_middle(found, skipped)) {
    const std::optional<Finding> finding = ask(*next);
    if (!finding) {
      found.stopped = true;
      break;
    }
    if (*finding == Finding::good) {
      found.last_good = *next;
    } else if (*finding == Finding::bad) {
      found.first_bad = *next;
    } else {
      skipped.insert(*next);
    }
  }
  return found;
}

std::size_t most_questions(std::size_t count) {
  std::size_t questions = 0;
  for (std::size_t left = count - 1; left > 1; left -= left / 2) ++questions;
  return questions;
}

}  // namespace headroom::bisect
