// The search alone, with a judge that knows the answer.
#include "bisect/search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace headroom::bisect::search_test {
namespace {

struct Asked {
  Found found;
  std::vector<std::size_t> places;
};

// Commits from `culprit` on are bad; some cannot be asked.
Asked search_for(std::size_t count, std::size_t culprit, const std::set<std::size_t>& broken = {},
                 Finding said = Finding::unbuildable) {
  Asked asked;
  asked.found = search(count, [&](std::size_t place) -> std::optional<Finding> {
    asked.places.push_back(place);
    if (broken.contains(place)) return said;
    return place < culprit ? Finding::good : Finding::bad;
  });
  return asked;
}

TEST(Search, FindsEveryCulpritWithFewQuestions) {
  for (const std::size_t count : {2U, 3U, 4U, 7U, 32U, 33U, 1000U}) {
    std::size_t most = 0;
    for (std::size_t culprit = 1; culprit < count; ++culprit) {
      const Asked asked = search_for(count, culprit);
      EXPECT_TRUE(asked.found.exact());
      EXPECT_EQ(asked.found.first_bad, culprit) << "of " << count;
      most = std::max(most, asked.places.size());
    }
    EXPECT_EQ(most, most_questions(count));
    EXPECT_LE(most, std::ceil(std::log2(count))) << count;
  }
  EXPECT_EQ(most_questions(32), 5U);
}

TEST(Search, NoCommitIsAskedTwiceNorAnEnd) {
  for (std::size_t culprit = 1; culprit < 20; ++culprit) {
    const Asked asked = search_for(20, culprit, {9, 10, 11, culprit == 10 ? 8U : 10U});
    const std::set<std::size_t> once(asked.places.begin(), asked.places.end());
    EXPECT_EQ(once.size(), asked.places.size());
    EXPECT_FALSE(once.contains(0) || once.contains(19));
  }
}

TEST(Search, NeighboursOfABrokenCommitAreAsked) {
  const Asked asked = search_for(32, 20, {15, 16});
  EXPECT_TRUE(asked.found.exact());
  EXPECT_EQ(asked.found.first_bad, 20U);
  EXPECT_EQ(asked.places[0], 15U);
  EXPECT_EQ(asked.places[1], 14U) << "the nearest before";
}

TEST(Search, WhereTheCulpritIsBrokenARangeIsLeft) {
  for (const Finding said : {Finding::unbuildable, Finding::in_doubt}) {
    const Asked asked = search_for(32, 20, {19, 20, 21}, said);
    EXPECT_FALSE(asked.found.exact());
    EXPECT_EQ(asked.found.last_good, 18U);
    EXPECT_EQ(asked.found.first_bad, 22U);
    EXPECT_FALSE(asked.found.stopped);
  }
}

TEST(Search, EndsWhereNobodyAnswers) {
  int questions = 0;
  const Found found = search(32, [&](std::size_t) -> std::optional<Finding> {
    if (++questions > 2) return std::nullopt;
    return Finding::good;
  });
  EXPECT_TRUE(found.stopped);
  EXPECT_EQ(questions, 3);
}

TEST(Search, NeighboursLeaveNothingToAsk) {
  const Asked asked = search_for(2, 1);
  EXPECT_TRUE(asked.places.empty());
  EXPECT_EQ(asked.found.first_bad, 1U);
}

}  // namespace
}  // namespace headroom::bisect::search_test
