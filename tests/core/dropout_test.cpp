#include "headroom/dropout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace headroom::dropout_test {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<float> factors(const DropoutPattern& pattern, std::uint64_t row, std::int64_t first,
                           std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  pattern.factors(row, first, count, out.data());
  return out;
}

TEST(Dropout, WithoutDroppingIsOne) {
  EXPECT_EQ(factors({0, 7}, 3, 1, 9), std::vector<float>(9, 1.0F));
}

TEST(Dropout, DropsTheGivenShareAndScalesTheRest) {
  constexpr std::int64_t kCount = 1'000'000;
  for (const double p : {0.1, 0.5, 0.9}) {
    const std::vector<float> all = factors({p, 42}, 0, 0, kCount);
    const auto dropped = static_cast<double>(std::count(all.begin(), all.end(), 0.0F));
    const double sigma = std::sqrt(kCount * p * (1 - p));
    EXPECT_NEAR(dropped, kCount * p, 5 * sigma) << p;
    const auto kept = std::count(all.begin(), all.end(), static_cast<float>(1 / (1 - p)));
    EXPECT_EQ(kept + static_cast<std::int64_t>(dropped), kCount) << p;
  }
}

TEST(Dropout, DoesNotDependOnHowItIsAsked) {
  const DropoutPattern pattern{0.4, 0x123456789abcdef0};
  const std::vector<float> whole = factors(pattern, 77, 0, 100);
  for (const std::int64_t step : {1, 3, 4, 7, 64}) {
    std::vector<float> pieces;
    for (std::int64_t first = 0; first < 100; first += step) {
      const auto piece = factors(pattern, 77, first, std::min<std::int64_t>(step, 100 - first));
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(pieces, whole) << step;
  }
}

TEST(Dropout, TakesTheLaneThatTheHeaderPromises) {
  const DropoutPattern pattern{0.25, 0xfedcba9876543210};
  const std::uint64_t row = 0x500000003;
  const std::int64_t first = (std::int64_t{1} << 35) + 2;
  const std::vector<float> some = factors(pattern, row, first, 50);
  int dropped = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    const auto column = static_cast<std::uint64_t>(first + i);
    const Block draws = philox4x32({static_cast<std::uint32_t>(column / 4),
                                    static_cast<std::uint32_t>(column / 4 >> 32), 3, 5},
                                   {0x76543210, 0xfedcba98});
    const bool drop = draws[column % 4] < 0x40000000;
    dropped += drop ? 1 : 0;
    EXPECT_EQ(some[static_cast<std::size_t>(i)], drop ? 0.0F : 1 / 0.75F) << i;
  }
  EXPECT_GT(dropped, 0);
}

TEST(Dropout, DiffersByRowAndSeed) {
  const std::vector<float> base = factors({0.5, 1}, 0, 0, 256);
  EXPECT_NE(base, factors({0.5, 2}, 0, 0, 256));
  EXPECT_NE(base, factors({0.5, 1}, 1, 0, 256));
  EXPECT_NE(base, factors({0.5, 1}, std::uint64_t{1} << 32, 0, 256));
  EXPECT_NE(base, factors({0.5, (std::uint64_t{1} << 32) + 1}, 0, 0, 256));
}

}  // namespace
}  // namespace headroom::dropout_test
