// The emulated tile product against its definition, written down a second time, and against the
// processor where it has tiles.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "headroom/precision.hpp"
#include "processor/unit_facts.hpp"
#include "simd/tiles/tile_kernels.hpp"

namespace headroom::simd::tile_emulator_test {
namespace {

struct Tiles {
  std::array<float, 256> c{};
  std::array<std::uint16_t, 512> a{};
  std::array<std::uint16_t, 512> b{};
};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
bool denormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL; }
float flush(float x) { return denormal(x) ? std::copysign(0.0F, x) : x; }

// Rounds an exact sum to 24 bits as if the exponent had no lower end, and flushes what is then
// below the smallest normal number. A long double holds a product of two bfloat16 exactly, and all
// that the tests add to it.
float round_and_flush(long double exact) {
  if (exact == 0) return std::signbit(exact) ? -0.0F : 0.0F;
  int exponent = 0;
  const long double significand = std::frexp(exact, &exponent);
  const long double rounded =
      std::ldexp(std::nearbyint(std::ldexp(significand, 24)), exponent - 24);
  if (std::fabs(rounded) < 0x1p-126L) return std::copysign(0.0F, static_cast<float>(exact));
  return static_cast<float>(rounded);
}

float quiet(float x) { return std::bit_cast<float>(bits(x) | 0x00400000U); }
constexpr std::uint32_t kDefaultNan = 0xffc00000U;

float step(float a, float b, float c) {
  for (const float nan : {a, b, c}) {
    if (std::isnan(nan)) return quiet(nan);
  }
  a = flush(a);
  b = flush(b);
  c = flush(c);
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) {
    const float sum = std::fma(a, b, c);  // a product of two finite ones is finite
    return std::isnan(sum) ? std::bit_cast<float>(kDefaultNan) : sum;
  }
  const long double product = static_cast<long double>(a) * b;
  return round_and_flush(product + c);
}

float sum(float a, float b) {
  if (std::isnan(a)) return quiet(a);
  if (std::isnan(b)) return quiet(b);
  return step(a, 1, b);
}

void define(Tiles& tiles) {
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      float even = 0;
      float odd = 0;
      for (std::size_t k = 0; k < 16; ++k) {
        const auto value = [](std::uint16_t half) { return Bf16{half}.value(); };
        even = step(value(tiles.a[i * 32 + 2 * k]), value(tiles.b[k * 32 + 2 * j]), even);
        odd = step(value(tiles.a[i * 32 + 2 * k + 1]), value(tiles.b[k * 32 + 2 * j + 1]), odd);
      }
      float& c = tiles.c[i * 16 + j];
      c = sum(c, sum(even, odd));
    }
  }
}

using Random = std::mt19937_64;

// Values of one kind each: what overflows, what vanishes, what cancels, and any bits at all.
std::uint16_t draw(Random& random, int kind) {
  const auto any = static_cast<std::uint16_t>(random());
  const auto with_exponent = [&](unsigned least, unsigned count) {
    const unsigned exponent = least + static_cast<unsigned>(random() % count);
    return static_cast<std::uint16_t>((any & 0x807fU) | exponent << 7);
  };
  switch (kind) {
    case 0:
      return with_exponent(120, 15);
    case 1:
      return random() % 3 == 0 ? 0 : with_exponent(100, 50);
    case 2:
      return with_exponent(60, 8);  // products around the smallest normal number
    case 3:
      return with_exponent(0, 2);  // denormal and nearly so
    case 4:
      return with_exponent(188, 6);  // products around the largest
    case 5:
      return static_cast<std::uint16_t>(0x3f80U | (any & 0x8000U));  // 1 and -1
    default:
      return any;  // infinities and NaNs among them
  }
}

constexpr int kKinds = 7;

Tiles draw_tiles(Random& random, int kind) {
  Tiles tiles;
  for (std::uint16_t& value : tiles.a) value = draw(random, kind);
  for (std::uint16_t& value : tiles.b) value = draw(random, kind == 2 ? 2 : kind);
  for (float& value : tiles.c) {
    value = kind == 6 ? std::bit_cast<float>(static_cast<std::uint32_t>(random()))
                      : Bf16{draw(random, kind)}.value();
  }
  return tiles;
}

class TileEmulator : public testing::TestWithParam<int> {};

TEST_P(TileEmulator, ComputesWhatIsDefined) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  const int rounds = GetParam() == 6 ? 3 : 12;
  for (int round = 0; round < rounds; ++round) {
    Tiles wanted = draw_tiles(random, GetParam());
    Tiles found = wanted;
    define(wanted);
    emulate_tile_product(found.c.data(), found.a.data(), found.b.data());
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(bits(found.c[i]), bits(wanted.c[i]))
          << "element " << i << ": " << found.c[i] << " instead of " << wanted.c[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TileEmulator, testing::Range(0, kKinds));

TEST(TileEmulatorEdges, AreTheInstructionsOwn) {
  const auto product = [](float c, std::uint16_t a, std::uint16_t b) {
    Tiles tiles;
    tiles.c[0] = c;
    tiles.a[0] = a;
    tiles.b[0] = b;
    emulate_tile_product(tiles.c.data(), tiles.a.data(), tiles.b.data());
    return bits(tiles.c[0]);
  };
  constexpr std::uint16_t kOne = 0x3f80;
  EXPECT_EQ(product(-0.0F, 0, 0), bits(0.0F));           // -0 plus nothing is +0
  EXPECT_EQ(product(0x1p-130F, 0, 0), bits(0.0F));       // a denormal sum is zero
  EXPECT_EQ(product(0, 0x0040, kOne), bits(0.0F));       // and so is a denormal operand
  EXPECT_EQ(product(0, 0x0080, kOne), bits(0x1p-126F));  // not the smallest normal one
  EXPECT_EQ(product(0, 0x7f80, 0), kDefaultNan);         // infinity times zero
  EXPECT_EQ(product(0, 0xff81, kOne), 0xffc10000U);      // a NaN is quieted, its payload kept
  EXPECT_EQ(product(0, 0xff81, 0x7fa5), 0xffc10000U);    // a before b
  EXPECT_EQ(product(std::bit_cast<float>(0x7f812345U), 0xff81, kOne), 0x7fc12345U);  // c first
}

// The least normal number may be reached by rounding, or only seem so.
TEST(TileEmulatorEdges, JudgeTininessAfterRounding) {
  Tiles tiles;
  tiles.a[0] = 0x3f7f;  // 1 - 2^-8
  tiles.b[0] = 0x0081;  // (1 + 2^-7) 2^-126: the product is above the least normal number
  Tiles below = tiles;
  below.b[0] = 0x0080;  // and here below
  emulate_tile_product(tiles.c.data(), tiles.a.data(), tiles.b.data());
  emulate_tile_product(below.c.data(), below.a.data(), below.b.data());
  EXPECT_GT(tiles.c[0], 0);
  EXPECT_EQ(below.c[0], 0);
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
      "tdpbf16ps %%tmm2, %%tmm1, %%tmm0\n\t"
      "tilestored %%tmm0, (%1,%4,1)\n\t"
      "tilerelease" ::"m"(configuration),
      "r"(tiles.c.data()), "r"(tiles.a.data()), "r"(tiles.b.data()), "r"(64L)
      : "memory");
}

TEST(TileEmulatorHardware, HasTheSameBits) {
  const std::string reason = why_no_unit(Unit::amx, Isa::avx512, unit_facts());
  if (!reason.empty()) GTEST_SKIP() << "no tiles to compare with: " << reason;
  Random random(99);
  constexpr int kTiles = 100'000;
  for (int i = 0; i < kTiles; ++i) {
    const Tiles drawn = draw_tiles(random, i % kKinds);
    Tiles processor = drawn;
    Tiles emulated = drawn;
    processor_product(processor);
    emulate_tile_product(emulated.c.data(), emulated.a.data(), emulated.b.data());
    for (std::size_t n = 0; n < 256; ++n) {
      ASSERT_EQ(bits(emulated.c[n]), bits(processor.c[n])) << "tile " << i << ", element " << n;
    }
  }
}
#endif

}  // namespace
}  // namespace headroom::simd::tile_emulator_test
