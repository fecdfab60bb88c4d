// The emulated product of fp16 tiles against its rules, written down a second time, and against the
// processor where it has such products.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "core/element/fp16_tiles.hpp"
#include "processor/unit_facts.hpp"
#include "simd/tiles/tile_kernels.hpp"

namespace headroom::simd::fp16_emulator_test {
namespace {

struct Tiles {
  std::array<float, 256> c{};
  std::array<std::uint16_t, 512> a{};
  std::array<std::uint16_t, 512> b{};
};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float of_bits(std::uint32_t word) { return std::bit_cast<float>(word); }
constexpr std::uint32_t kDefaultNan = 0xffc00000U;

// By the format's definition. Denormal numbers count; a NaN's payload moves up by 13 bits.
float value_of(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) {
    return of_bits((half & 0x8000U) << 16 | 0x7f800000U | static_cast<unsigned>(fraction) << 13);
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

// A long double holds all of these sums that are near a tie exactly: 48 bits.
float step(float a, float b, float sum) {
  for (const float nan : {a, b, sum}) {
    if (std::isnan(nan)) return of_bits(bits(nan) | 0x00400000U);
  }
  if (std::isinf(a) || std::isinf(b) || std::isinf(sum)) {
    const float found = a * b + sum;
    return std::isnan(found) ? of_bits(kDefaultNan) : found;
  }
  return static_cast<float>(static_cast<long double>(a) * b + sum);
}

float add(float a, float b) {
  if (std::isnan(a)) return of_bits(bits(a) | 0x00400000U);
  if (std::isnan(b)) return of_bits(bits(b) | 0x00400000U);
  if (std::fpclassify(a) == FP_SUBNORMAL) a = std::copysign(0.0F, a);
  return step(a, 1, b);
}

void define(Tiles& tiles) {
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      float even = 0;
      float odd = 0;
      for (std::size_t k = 0; k < 16; ++k) {
        even = step(value_of(tiles.a[i * 32 + 2 * k]), value_of(tiles.b[k * 32 + 2 * j]), even);
        odd =
            step(value_of(tiles.a[i * 32 + 2 * k + 1]), value_of(tiles.b[k * 32 + 2 * j + 1]), odd);
      }
      float& c = tiles.c[i * 16 + j];
      c = add(c, add(even, odd));
    }
  }
}

using Random = std::mt19937_64;

constexpr int kKinds = 8;

std::uint16_t draw(Random& random, int kind) {
  const auto any = static_cast<std::uint16_t>(random());
  const auto with_exponent = [&](unsigned least, unsigned count) {
    const unsigned exponent = least + static_cast<unsigned>(random() % count);
    return static_cast<std::uint16_t>((any & 0x83ffU) | exponent << 10);
  };
  switch (kind) {
    case 0:
      return with_exponent(13, 5);
    case 1:
      return random() % 3 == 0 ? 0 : with_exponent(0, 31);
    case 2:
      return with_exponent(0, 1);  // denormal
    case 3:
      return with_exponent(29, 2);  // the largest
    case 4:
      return random() % 2 == 0 ? with_exponent(29, 2) : with_exponent(0, 2);
    case 5:
      return static_cast<std::uint16_t>(any & 0x8000U);  // zeros of both signs
    case 6:
      return random() % 40 == 0 ? static_cast<std::uint16_t>(any | 0x7c00U) : with_exponent(0, 31);
    default:
      return any;
  }
}

Tiles draw_tiles(Random& random, int kind) {
  Tiles tiles;
  for (std::uint16_t& value : tiles.a) value = draw(random, kind);
  for (std::uint16_t& value : tiles.b) value = draw(random, kind);
  for (float& value : tiles.c) {
    switch (random() % 4) {
      case 0:
        value = 0;
        break;
      case 1:
        value = of_bits(static_cast<std::uint32_t>(random()));
        break;
      case 2:
        value = of_bits(static_cast<std::uint32_t>(random()) & 0x80ffffffU);  // denormal and tiny
        break;
      default:
        value = value_of(draw(random, kind)) * 0x1p10F;
    }
  }
  if (kind == 1) {
    Tiles sums = tiles;
    sums.c.fill(0);
    define(sums);
    for (std::size_t i = 0; i < 256; ++i) tiles.c[i] = -sums.c[i];  // cancels
  }
  return tiles;
}

class Fp16Emulator : public testing::TestWithParam<int> {};

TEST_P(Fp16Emulator, ComputesWhatIsDefined) {
  Random random(static_cast<std::uint64_t>(GetParam()) + 7);
  for (int round = 0; round < 8; ++round) {
    Tiles wanted = draw_tiles(random, GetParam());
    if (round >= 4) {
      for (float& c : wanted.c) c = std::isnormal(c) ? c : 0;  // what vectors compute
    }
    Tiles found = wanted;
    define(wanted);
    emulate_fp16_tile_product(found.c.data(), found.a.data(), found.b.data());
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(bits(found.c[i]), bits(wanted.c[i]))
          << "element " << i << ": " << found.c[i] << " instead of " << wanted.c[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Fp16Emulator, testing::Range(0, kKinds));

std::uint32_t product(float c, std::uint16_t a, std::uint16_t b) {
  Tiles tiles;
  tiles.c[0] = c;
  tiles.a[0] = a;
  tiles.b[0] = b;
  emulate_fp16_tile_product(tiles.c.data(), tiles.a.data(), tiles.b.data());
  return bits(tiles.c[0]);
}

constexpr std::uint16_t kOne = 0x3c00;

TEST(Fp16EmulatorEdges, AreTheInstructionsOwn) {
  EXPECT_EQ(product(-0.0F, 0, 0), bits(0.0F)) << "-0 plus nothing is +0";
  EXPECT_EQ(product(-0.0F, 0x8000, kOne), bits(0.0F)) << "even plus -0";
  EXPECT_EQ(product(0x1p-130F, 0, 0), bits(0.0F)) << "a denormal sum is zero";
  EXPECT_EQ(product(-0x1p-130F, kOne, kOne), bits(1.0F));
  EXPECT_EQ(product(0x1p-126F, 0, 0), bits(0x1p-126F)) << "and a small normal one is not";
  EXPECT_EQ(product(0, 0x0001, kOne), bits(0x1p-24F)) << "denormal operands count";
  EXPECT_EQ(product(0, 0x0001, 0x0001), bits(0x1p-48F));
  EXPECT_EQ(product(std::numeric_limits<float>::max(), 0x7bff, 0x7bff), 0x7f7fffffU);
}

TEST(Fp16EmulatorEdges, OfInfinitiesAndNan) {
  EXPECT_EQ(product(0, 0x7c00, 0), kDefaultNan) << "infinity times zero";
  EXPECT_EQ(product(0, 0x7c00, 0x0001), 0x7f800000U) << "infinity times the least number";
  EXPECT_EQ(product(-std::numeric_limits<float>::infinity(), 0x7c00, kOne), kDefaultNan);
  EXPECT_EQ(product(0, 0xfc01, kOne), 0xffc02000U) << "a NaN is quieted, its payload moves up";
  EXPECT_EQ(product(0, 0xfc01, 0x7d55), 0xffc02000U) << "a before b";
  EXPECT_EQ(product(0, kOne, 0x7d55), 0x7feaa000U);
  EXPECT_EQ(product(of_bits(0x7f812345U), 0xfc01, kOne), 0x7fc12345U) << "c before the sum";
}

// Sums are rounded after every step, as floats are.
TEST(Fp16EmulatorEdges, NothingIsWiderThanAFloat) {
  Tiles tiles;
  tiles.a[0] = 0x7bff;
  tiles.b[0] = 0x7bff;
  tiles.a[2] = 0x0001;
  tiles.b[32] = 0x0001;
  tiles.a[4] = 0xfbff;
  tiles.b[64] = 0x7bff;
  emulate_fp16_tile_product(tiles.c.data(), tiles.a.data(), tiles.b.data());
  EXPECT_EQ(tiles.c[0], 0.0F) << "65504^2 + 2^-48 - 65504^2";
}

TEST(Fp16EmulatorEdges, NeighboursAreSummedApart) {
  Tiles tiles;
  tiles.a[0] = 0x7bff;  // of the even sum
  tiles.b[0] = 0x7bff;
  tiles.a[1] = kOne;  // of the odd one
  tiles.b[1] = kOne;
  tiles.a[2] = 0xfbff;
  tiles.b[32] = 0x7bff;
  emulate_fp16_tile_product(tiles.c.data(), tiles.a.data(), tiles.b.data());
  EXPECT_EQ(tiles.c[0], 1.0F);
}

#if defined(__x86_64__)
// By hand, so that neither the walk nor its packing is part of it.
void processor_product(Tiles& tiles) {
  alignas(64) unsigned char configuration[64] = {};
  configuration[0] = 1;
  for (int tile = 0; tile < 3; ++tile) {
    configuration[16 + 2 * tile] = 64;
    configuration[48 + tile] = 16;
  }
  asm volatile(
      "ldtilecfg %0\n\t"
      "tileloadd (%1,%4,1), %%tmm0\n\t"
      "tileloadd (%2,%4,1), %%tmm1\n\t"
      "tileloadd (%3,%4,1), %%tmm2\n\t"
      ".byte 0xc4, 0xe2, 0x6b, 0x5c, 0xc1\n\t"
      "tilestored %%tmm0, (%1,%4,1)\n\t"
      "tilerelease" ::"m"(configuration),
      "r"(tiles.c.data()), "r"(tiles.a.data()), "r"(tiles.b.data()), "r"(64L)
      : "memory");
}

TEST(Fp16EmulatorHardware, HasTheSameBits) {
  const std::string reason = why_no_unit(Unit::amx, Isa::avx512, unit_facts());
  if (!reason.empty()) GTEST_SKIP() << "no tiles to compare with: " << reason;
  if (fp16_tiles() == Fp16Tiles::none) {
    GTEST_SKIP() << "these tiles announce no products of fp16 (HEADROOM_AMX_FP16=1 tries them)";
  }
  Random random(99);
  constexpr int kTiles = 200'000;
  for (int i = 0; i < kTiles; ++i) {
    const Tiles drawn = draw_tiles(random, i % kKinds);
    Tiles processor = drawn;
    Tiles emulated = drawn;
    processor_product(processor);
    emulate_fp16_tile_product(emulated.c.data(), emulated.a.data(), emulated.b.data());
    for (std::size_t n = 0; n < 256; ++n) {
      ASSERT_EQ(bits(emulated.c[n]), bits(processor.c[n])) << "tile " << i << ", element " << n;
    }
  }
}
#endif

}  // namespace
}  // namespace headroom::simd::fp16_emulator_test
