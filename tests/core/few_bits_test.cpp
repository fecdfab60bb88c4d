// Groups of weights that share a scale.
#include "core/element/few_bits.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "headroom/initialise.hpp"

namespace headroom::few_bits_test {
namespace {

TEST(F16, EveryNumberRoundsToItself) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const F16 number{static_cast<std::uint16_t>(bits)};
    if (std::isnan(number.value())) {
      EXPECT_TRUE(std::isnan(round_to_f16(number.value()).value()));
    } else {
      ASSERT_EQ(round_to_f16(number.value()).bits, number.bits);
    }
  }
}

TEST(F16, RoundsToNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const float low = F16{static_cast<std::uint16_t>(bits)}.value();
    const float high = bits == 0x7bffU ? 65536 : F16{static_cast<std::uint16_t>(bits + 1)}.value();
    const float middle = (low + high) / 2;
    for (const float sign : {1.0F, -1.0F}) {
      const auto rounded = [&](float value) { return round_to_f16(sign * value).bits & 0x7fffU; };
      ASSERT_EQ(rounded(middle), bits % 2 == 0 ? bits : bits + 1);
      ASSERT_EQ(rounded(std::nextafter(middle, 0.0F)), bits);
      ASSERT_EQ(rounded(std::nextafter(middle, high)), bits + 1);
      ASSERT_EQ(round_to_f16(sign * middle).bits >> 15, sign < 0 ? 1 : 0);
    }
  }
}

std::vector<float> ramp() {
  std::vector<float> weights(kGroup);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = 0.25F * static_cast<float>(static_cast<int>(i) - 20);
  }
  return weights;
}

// By hand: the largest magnitude is 5, at index 0.
TEST(StoreGroup, OfEightBitsReachesFromMinus127To127) {
  const std::vector<float> weights = ramp();
  const WeightGroup group = store_group(Storage::q8, weights.data(), kGroup, 1);
  EXPECT_EQ(group.scale.value(), F16{round_to_f16(5.0F / 127)}.value());
  EXPECT_EQ(group.values[0], -127);
  EXPECT_EQ(group.values[20], 0);
  EXPECT_EQ(group.values[21], 6);   // 0.25 * 25.4 = 6.35
  EXPECT_EQ(group.values[31], 70);  // 2.75 * 25.4 = 69.85
}

TEST(StoreGroup, HalvesGoAwayFromZero) {
  const std::vector<float> weights{127, 2.5F, -2.5F, 3.5F, -4.5F};  // a scale of 1
  const WeightGroup group = store_group(Storage::q8, weights.data(), 5, 1);
  EXPECT_EQ(group.values[1], 3);
  EXPECT_EQ(group.values[2], -3);
  EXPECT_EQ(group.values[3], 4);
  EXPECT_EQ(group.values[4], -5);
}

TEST(StoreGroup, OfFourBitsTheLargestIsMinus8) {
  std::vector<float> weights = ramp();
  const WeightGroup below = store_group(Storage::q4, weights.data(), kGroup, 1);
  EXPECT_EQ(below.scale.value(), 0.625F);
  EXPECT_EQ(below.values[0], -8);
  EXPECT_EQ(below.values[21], 0);  // 0.4
  EXPECT_EQ(below.values[31], 4);  // 4.4
  weights[7] = 6;
  weights[8] = -5.9F;  // 7.87 steps of -0.75, which 7 is the end of
  const WeightGroup above = store_group(Storage::q4, weights.data(), kGroup, 1);
  EXPECT_EQ(above.scale.value(), -0.75F);
  EXPECT_EQ(above.values[7], -8);
  EXPECT_EQ(above.weight(7), 6);
  EXPECT_EQ(above.values[8], 7);
}

TEST(StoreGroup, ZerosAndShortGroups) {
  const std::vector<float> zeros(kGroup);
  const std::vector<float> strided{1, 9, -2, 9, 4};
  for (const Storage storage : {Storage::q8, Storage::q4}) {
    const WeightGroup none = store_group(storage, zeros.data(), kGroup, 1);
    const WeightGroup three = store_group(storage, strided.data(), 3, 2);
    for (std::int64_t i = 0; i < kGroup; ++i) {
      EXPECT_EQ(none.weight(i), 0);
      EXPECT_TRUE(i < 3 || three.weight(i) == 0);
    }
    EXPECT_NEAR(three.weight(2), 4, 4e-3);
  }
}

// So a file whose groups are these is stored as it is.
TEST(StoreGroup, StoringWhatIsStoredChangesNothing) {
  std::mt19937 random(1);
  for (int draw = 0; draw < 2000; ++draw) {
    std::normal_distribution<float> normal(0,
                                           std::ldexp(1.0F, static_cast<int>(random() % 20) - 12));
    std::vector<float> weights(kGroup);
    for (float& weight : weights) weight = normal(random);
    for (const Storage storage : {Storage::q8, Storage::q4}) {
      const WeightGroup once = store_group(storage, weights.data(), kGroup, 1);
      std::vector<float> expanded(kGroup);
      for (std::int64_t i = 0; i < kGroup; ++i) {
        expanded[static_cast<std::size_t>(i)] = once.weight(i);
      }
      const WeightGroup twice = store_group(storage, expanded.data(), kGroup, 1);
      EXPECT_EQ(twice.scale.bits, once.scale.bits);
      EXPECT_EQ(twice.values, once.values);
    }
  }
}

TEST(RoundWeights, GroupsGoDownTheColumns) {
  Matrix weights(40, 3);
  for (std::int64_t r = 0; r < 40; ++r) {
    for (std::int64_t c = 0; c < 3; ++c) {
      weights.view().row(r)[c] = static_cast<float>(r * (c + 1)) / 7;
    }
  }
  for (const Storage storage : {Storage::q8, Storage::q4}) {
    Matrix rounded = weights;
    round_weights(storage, rounded.view());
    for (const std::int64_t first : {0, 32}) {
      const std::int64_t count = std::min<std::int64_t>(kGroup, 40 - first);
      for (std::int64_t c = 0; c < 3; ++c) {
        const WeightGroup group =
            store_group(storage, weights.view().row(first) + c, count, weights.view().row_stride);
        for (std::int64_t i = 0; i < count; ++i) {
          EXPECT_EQ(rounded.view().row(first + i)[c], group.weight(i));
        }
      }
    }
  }
}

TEST(StorageBytes, CountScales) {
  EXPECT_EQ(storage_bytes(Storage::f32, 64), 256);
  EXPECT_EQ(storage_bytes(Storage::bf16, 64), 128);
  EXPECT_EQ(storage_bytes(Storage::q8, 64), 68);
  EXPECT_EQ(storage_bytes(Storage::q4, 64), 36);
}

}  // namespace
}  // namespace headroom::few_bits_test
