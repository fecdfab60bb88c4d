// Numbers in eight bits that share a scale, as caches keep them.
#include "core/element/cache_bytes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/case.hpp"
#include "core/element/convert.hpp"

namespace headroom::cache_bytes_test {
namespace {

std::vector<float> stored(std::vector<float> values) {
  round_by_bytes(values.data(), std::ssize(values));
  return values;
}

// By hand: the largest is 127 steps of 0.25, which fp16 holds.
TEST(CacheBytes, AreStepsOfTheLargestOver127) {
  // Halves go to even: 1.5 to 2 and 2.5 to 2.
  EXPECT_EQ(stored({-31.75F, 0, 0.25F, 0.3F, 0.375F, 0.625F, -0.38F, 10, 31.7F}),
            (std::vector<float>{-31.75F, 0, 0.25F, 0.25F, 0.5F, 0.5F, -0.5F, 10, 31.75F}));
}

TEST(CacheBytes, AreTheNearestStepsOfRandomNumbers) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<float> values(64);
    const float size = std::exp2(static_cast<float>(repeat % 22) - 7);
    double largest = 0;
    for (float& value : values) {
      value = size * normal(random);
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    const double scale =
        static_cast<double>(round_to_f16(static_cast<float>(largest) / 127).value());
    const std::vector<float> rounded = stored(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double steps = static_cast<double>(rounded[i]) / scale;
      ASSERT_EQ(steps, std::round(steps));
      ASSERT_LE(std::abs(steps), 127);
      const double off = std::abs(static_cast<double>(rounded[i] - values[i]));
      ASSERT_LE(off, std::abs(steps) == 127 ? scale * 0.57 : scale * 0.5001);
    }
    EXPECT_NE(rounded, values);
  }
}

// A scale that fp16 holds coarsely is the one that steps are counted in.
TEST(CacheBytes, OfTinyNumbersAreStepsOfTheScaleThatIsStored) {
  const float scale = 0x3p-24F;
  const std::vector<float> rounded = stored({127.3F * scale, 50 * scale, -3 * scale});
  EXPECT_EQ(rounded, (std::vector<float>{127 * scale, 50 * scale, -3 * scale}));
  EXPECT_EQ(stored({1e-9F, -1e-9F}), (std::vector<float>{0, 0}));
  EXPECT_EQ(stored({0, 0}), (std::vector<float>{0, 0}));
}

TEST(CacheBytes, OfWhatIsNoNumberAreNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& values :
       {std::vector<float>{1, nan, 2}, {nan, 1, 2}, {1, -inf, 2}, {1, 2, 9e6F}}) {
    for (const float value : stored(values)) EXPECT_FALSE(std::isfinite(value));
  }
  EXPECT_TRUE(std::isfinite(stored({1, 8.3e6F}).back()));
}

TEST(CacheBytes, StandAnyDistanceApart) {
  std::vector<float> rows{1, 100, -3, 200, 2.5F, 50};
  const std::vector<float> first = stored({1, -3, 2.5F});
  round_by_bytes(rows.data(), 3, 2);
  EXPECT_EQ(rows, (std::vector<float>{first[0], 100, first[1], 200, first[2], 50}));
}

TEST(CacheBlock, BeginsAtAMultipleOf64) {
  EXPECT_EQ(cache_block(0), 0);
  EXPECT_EQ(cache_block(63), 0);
  EXPECT_EQ(cache_block(64), 64);
  EXPECT_EQ(cache_block(200), 192);
}

TEST(CacheBytes, AreCounted) {
  LayerConfig config;
  config.d_in = config.d_out = 1024;
  config.heads = 8;
  config.kv_heads = 2;
  // 256 keys and as many values of a token; 2 scales of values; 256 of 64 keys.
  EXPECT_EQ(cache_bytes(Storage::q8, 128, config), 128 * 512 + 2 * (128 * 2 + 2 * 256));
  EXPECT_EQ(cache_bytes(Storage::q8, 1, config), 512 + 2 * (2 + 256));
  EXPECT_EQ(cache_bytes(Storage::f32, 128, config), 128 * 512 * 4);
  EXPECT_EQ(cache_bytes(Storage::bf16, 128, config), 128 * 512 * 2);
}

}  // namespace
}  // namespace headroom::cache_bytes_test
