// Which of many commits changed something, by asking about as few of them as possible.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace headroom::bisect {

/// What was found of a commit.
enum class Finding {
  good,         ///< as fast as the first
  bad,          ///< as slow as the last
  in_doubt,     ///< its times could not be told apart from either, however often measured
  unbuildable,  ///< it does not build, or what it built does not measure
};

struct Found {
  std::size_t last_good = 0;
  std::size_t first_bad = 0;
  bool stopped = false;  ///< nobody answered any more

  /// Whether one commit is left: `first_bad`. If not, it is one of those after `last_good` up to
  /// `first_bad`, and all between them were asked for in vain.
  bool exact() const { return first_bad == last_good + 1; }
};

/// Nothing to stop.
using Ask = std::function<std::optional<Finding>(std::size_t)>;

/// @param count of commits, oldest first; the first is good and the last is bad, and neither is
///        asked for. @pre at least 2
/// @param ask about one commit. Where that says neither good nor bad, the nearest one to the middle
///        that was not asked for is next.
Found search(std::size_t count, const Ask& ask);

/// How many commits are asked for if none is in doubt: with both ends, that many more builds by 2.
std::size_t most_questions(std::size_t count);

}  // namespace headroom::bisect
