// fp16 parts of weights, at every level: how they are scaled, cut and counted, and which products
// they are then trusted with.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/executor.hpp"
#include "headroom/headroom.hpp"
#include "simd/project.hpp"
#include "simd/tiles/tile_products.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd::fp16_parts_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

float value_of(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto fraction = static_cast<float>(half & 1023);
  const float size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

// To nearest even, by the grid that the format has there.
float nearest_fp16(float x) {
  if (x == 0) return x;
  const int exponent = std::max(std::ilogb(x), -14);
  const float grid = std::ldexp(1.0F, exponent - 10);
  return std::nearbyint(x / grid) * grid;
}

/// Weights of 32 columns, cut.
struct Cut {
  std::vector<Half> parts;
  std::vector<Fp16Range> ranges;
  std::int64_t stage_depth = 0;

  /// @param p 0: high; 1: low
  float part(int p, std::int64_t k, std::int64_t column) const {
    const std::int64_t step = k / kTileDepth;
    const std::int64_t row = k % kTileDepth / 2;
    const std::int64_t index =
        ((step * 2 + p) * (kTileDepth / 2) + row) * 2 * kTileBlock + 2 * column + k % 2;
    return value_of(parts[static_cast<std::size_t>(index)]);
  }
};

class Fp16Parts : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    const std::vector<Isa> here = available_isas();
    if (std::find(here.begin(), here.end(), GetParam()) == here.end()) {
      GTEST_SKIP() << "this machine has no " << to_string(GetParam());
    }
  }
  const KernelTable& table() const { return kernel_table(GetParam()); }
  TileChoice tiles() const {
    TileChoice choice = choose_tiles({GetParam(), Unit::emulated}, Precision::fp16x3);
    choice.few_rows = 0;
    return choice;
  }

  Cut cut(const Matrix& w, std::int64_t stage_depth) const {
    const PackedMatrix packed(std::vector<ConstAnyMatrix>{w.view()}, std::vector<ConstAnyMatrix>{},
                              table(), Storage::f32, executor_);
    Cut cut;
    cut.stage_depth = stage_depth;
    cut.parts.resize(static_cast<std::size_t>(cut_block_halves(2, w.rows)));
    cut.ranges.resize(static_cast<std::size_t>(stage_count(w.rows, stage_depth)));
    unsigned char bad = 2;
    TileCutTask task;
    task.panels = packed.data();
    task.cols = w.cols;
    task.depth = w.rows;
    task.block_end = 1;
    task.parts = cut.parts.data();
    task.bad = &bad;
    task.stage_depth = stage_depth;
    task.ranges = cut.ranges.data();
    tiles().kernels->cut(task);
    EXPECT_EQ(bad, 0);
    return cut;
  }

  Matrix product(const TileChoice& choice, const Matrix& x, const Matrix& w) const {
    std::vector<PackedMatrix> packed;
    packed.emplace_back(std::vector<ConstAnyMatrix>{w.view()}, std::vector<ConstAnyMatrix>{},
                        table(), Storage::f32, executor_);
    Matrix y(x.rows, w.cols);
    const AnyBlockedView out = BlockedView{y.view().data, x.rows, w.cols, 1, w.cols, 0};
    if (choice.kernels != nullptr) {
      TileProducts products(choice, table(), packed, x.rows, executor_);
      products.run(executor_, x.view(), std::span(&out, 1));
    } else {
      BlockedProducts products(table(), std::move(packed), x.rows, executor_,
                               project_variants(GetParam()).front());
      products.run(executor_, x.view(), std::span(&out, 1));
    }
    return y;
  }

  const SerialExecutor executor_ = {};
};

using Random = std::mt19937_64;

Matrix gaussian(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Random random(seed);
  std::normal_distribution<float> normal;
  Matrix matrix(rows, cols);
  for (float& each : matrix.values) each = normal(random);
  return matrix;
}

float largest_of(const Matrix& w, std::int64_t begin, std::int64_t end) {
  float most = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    for (std::int64_t c = 0; c < w.cols; ++c) most = std::max(most, std::abs(w.view().row(k)[c]));
  }
  return most;
}

void expect_parts(const Cut& cut, const Matrix& w) {
  for (std::int64_t k = 0; k < w.rows; ++k) {
    const Fp16Range& range = cut.ranges[static_cast<std::size_t>(k / cut.stage_depth)];
    for (std::int64_t c = 0; c < w.cols; ++c) {
      const float scaled = std::ldexp(w.view().row(k)[c], range.exponent);
      const float high = nearest_fp16(scaled);
      ASSERT_EQ(cut.part(0, k, c), high) << "row " << k << ", column " << c;
      ASSERT_EQ(cut.part(1, k, c), nearest_fp16(scaled - high)) << "row " << k << ", column " << c;
    }
  }
}

TEST_P(Fp16Parts, AreTheNearestOfScaledValues) {
  for (const float size : {1.0F, 0x1.8p-111F, 0x1p100F, 3.9999998F}) {
    Matrix w = gaussian(70, 32, 3);
    for (float& each : w.values) each *= size;
    const Cut found = cut(w, 32);
    for (std::size_t s = 0; s < found.ranges.size(); ++s) {
      const auto begin = static_cast<std::int64_t>(s) * 32;
      const float most = largest_of(w, begin, std::min<std::int64_t>(begin + 32, 70));
      const float scaled = std::ldexp(most, found.ranges[s].exponent);
      EXPECT_GE(scaled, 0x1p14F) << size;
      EXPECT_LT(scaled, 0x1p15F) << size;
    }
    expect_parts(found, w);
  }
}

// Ties, the border of denormal numbers, and what is below the grid.
TEST_P(Fp16Parts, AreRoundedToNearestEvenEverywhere) {
  Matrix w(64, 32);
  Random random(5);
  for (float& each : w.values) {
    const auto mantissa = static_cast<std::uint32_t>(random() & 0x7fffffU);
    const std::uint32_t cut = random() % 2 == 0 ? mantissa & 0x7ff000U : mantissa;  // ties
    const auto exponent = static_cast<std::uint32_t>(127 - 30 + random() % 44);
    each =
        std::bit_cast<float>(exponent << 23 | cut | static_cast<std::uint32_t>(random() % 2) << 31);
  }
  w.view().row(7)[3] = 0x1.8p14F;
  const Cut found = cut(w, 64);
  EXPECT_EQ(found.ranges[0].exponent, 0);
  expect_parts(found, w);
}

TEST_P(Fp16Parts, HaveNoScaleWhereNoneIsPossible) {
  for (const float value : {kInf, -kInf, kNan, std::bit_cast<float>(0x7f800001U)}) {
    Matrix w = gaussian(40, 32, 3);
    w.view().row(39)[31] = value;
    EXPECT_EQ(cut(w, 64).ranges[0].exponent, kNoFp16Scale) << value;
  }
  for (const float size : {0x1p-113F, 0x1p-140F}) {
    Matrix w(40, 32);
    w.view().row(1)[1] = size;
    EXPECT_EQ(cut(w, 64).ranges[0].exponent, kNoFp16Scale) << size;
  }
  Matrix w(40, 32);
  w.view().row(1)[1] = 0x1p-112F;
  EXPECT_EQ(cut(w, 64).ranges[0].exponent, 126);
  w.view().row(1)[1] = std::numeric_limits<float>::max();
  EXPECT_EQ(cut(w, 64).ranges[0].exponent, -113);
}

// The largest value is 2^14, so that scaled ones are what they were.
TEST_P(Fp16Parts, AreCountedByTheWorstColumn) {
  Matrix w(40, 32);
  for (std::int64_t c = 0; c < 32; ++c) {
    if (c == 20) continue;  // zeros: no column that counts
    for (std::int64_t k = 0; k < 40; ++k) w.view().row(k)[c] = 0x1p14F;
  }
  Fp16Range range = cut(w, 64).ranges[0];
  EXPECT_EQ(range.large, 40);
  EXPECT_EQ(range.middle, 40);
  EXPECT_EQ(range.whole, 40);
  EXPECT_EQ(range.worn, 0);
  w.view().row(0)[9] = -0x1.fffffep10F;
  w.view().row(1)[9] = 0x1p11F;
  for (std::int64_t k = 0; k < 5; ++k) w.view().row(k)[31] = k < 3 ? 0x1.fffffep3F : -0x1p4F;
  w.view().row(7)[11] = 0x1.fffffep-3F;
  w.view().row(8)[11] = 0x1p-2F;
  w.view().row(9)[11] = -1e-42F;
  w.view().row(10)[11] = 0;
  range = cut(w, 64).ranges[0];
  EXPECT_EQ(range.large, 35) << "of column 31";
  EXPECT_EQ(range.middle, 36) << "of column 11";
  EXPECT_EQ(range.whole, 37) << "of column 11";
  EXPECT_EQ(range.worn, 2) << "of column 11";
}

// Row of x times a column with the largest power at one place: exact high + low, or f32.
TEST_P(Fp16Parts, OfRowsHoldTwentyThreeBits) {
  const Matrix x = gaussian(40, 64, 9);
  Matrix w(64, 64);
  for (std::int64_t i = 0; i < 64; ++i) w.view().row(i)[i] = 1;
  const Matrix y = product(tiles(), x, w);
  std::int64_t exact = 0;
  for (std::int64_t r = 0; r < 40; ++r) {
    int exponent = 0;
    std::frexp(largest_of(x, r, r + 1), &exponent);
    const int scale = 15 - exponent;
    for (std::int64_t c = 0; c < 64; ++c) {
      const float scaled = std::ldexp(x.view().row(r)[c], scale);
      const float high = nearest_fp16(scaled);
      const float wanted = std::ldexp(high + nearest_fp16(scaled - high), -scale);
      const float found = y.view().row(r)[c];
      ASSERT_TRUE(found == wanted || found == x.view().row(r)[c]) << r << ", " << c;
      exact += bits(found) == bits(x.view().row(r)[c]) ? 1 : 0;
    }
  }
  EXPECT_LT(exact, 40 * 64) << "was it computed by f32?";
}

// Depth 40 of ones and one small value: one row and one panel that are worn so and so often.
struct PartsCase {
  int worn_x, worn_w;
  bool good;
};

TEST_P(Fp16Parts, AreTrustedWhereEnoughLargeProductsAreSure) {
  // All others are large on both sides: 40 - worn_x - worn_w terms are sure.
  Random random(11);
  for (const PartsCase& each :
       {PartsCase{0, 0, true}, PartsCase{20, 0, true}, PartsCase{21, 0, false},
        PartsCase{0, 20, true}, PartsCase{0, 21, false}, PartsCase{13, 13, true},
        PartsCase{14, 13, false}, PartsCase{13, 14, false}, PartsCase{1, 19, true},
        PartsCase{1, 20, false}, PartsCase{40, 0, false}}) {
    Matrix x(40, 40);
    Matrix w(40, 32);
    // Of so many bits that f32 hardly ever has the sums of parts.
    for (float& v : x.values) v = 1 + static_cast<float>(random() % 0x800000U) * 0x1p-23F;
    for (float& v : w.values) v = 1 + static_cast<float>(random() % 0x800000U) * 0x1p-23F;
    constexpr float kWorn = 0x1.555556p-18F;  // below 2^-2 beside a maximum of 2^14
    for (int k = 0; k < each.worn_x; ++k) x.view().row(5)[k] = kWorn;
    if (each.worn_x == 40) x.view().row(5)[39] = 1.0F;
    for (int k = 0; k < each.worn_w; ++k) w.view().row(39 - k)[7] = kWorn;
    const Matrix y = product(tiles(), x, w);
    const Matrix exact = product({}, x, w);
    bool same = true;
    for (std::int64_t c = 0; c < 32; ++c) {
      same = same && bits(y.view().row(5)[c]) == bits(exact.view().row(5)[c]);
    }
    EXPECT_EQ(same, !each.good) << each.worn_x << " and " << each.worn_w;
  }
}

// Just beyond them the inverse of both scales would be zero, as for most rows of the second pair;
// farther it would be anything.
TEST_P(Fp16Parts, AreNotTrustedBeyondTheExponentsOfFloats) {
  Matrix x = gaussian(40, 40, 1);
  Matrix w = gaussian(40, 32, 2);
  for (const auto& [of_x, of_w] : {std::pair{0x1p-60F, 0x1p-60F},
                                   {0x1p-50F, 0x1p-51F},
                                   {0x1p-51F, 0x1p-51F},
                                   {0x1p60F, 0x1p70F},
                                   {0x1p-112F, 1.0F},
                                   {0x1p-120F, 0x1p100F}}) {
    Matrix scaled_x = x;
    Matrix scaled_w = w;
    for (float& v : scaled_x.values) v *= of_x;
    for (float& v : scaled_w.values) v *= of_w;
    const Matrix y = product(tiles(), scaled_x, scaled_w);
    const Matrix exact = product({}, scaled_x, scaled_w);
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      ASSERT_EQ(std::isfinite(y.values[i]), std::isfinite(exact.values[i]));
      if (!std::isfinite(exact.values[i])) continue;
      error += std::pow(double{y.values[i]} - exact.values[i], 2);
      size += std::pow(double{exact.values[i]}, 2);
    }
    EXPECT_LE(error, 1e-12 * size) << of_x << " times " << of_w;
  }
}

// A row's bits follow from itself and the panel, not from its neighbours or other panels.
TEST_P(Fp16Parts, OfAnotherRowOrPanelChangeNothing) {
  Matrix x = gaussian(70, 900, 1);  // two stages
  Matrix w = gaussian(900, 100, 2);
  const Matrix before = product(tiles(), x, w);
  for (std::int64_t k = 0; k < 899; ++k) x.view().row(33)[k] *= 1e-9F;
  for (std::int64_t k = 0; k < 899; ++k) w.view().row(k)[70] = 0;
  x.view().row(34)[3] = kNan;
  w.view().row(3)[80] = 1e30F;
  const Matrix after = product(tiles(), x, w);
  for (std::int64_t r = 0; r < 70; ++r) {
    for (std::int64_t c = 0; c < 100; ++c) {
      if (r == 33 || r == 34 || (c >= 64 && c < 96)) continue;
      ASSERT_EQ(bits(after.view().row(r)[c]), bits(before.view().row(r)[c])) << r << ", " << c;
    }
  }
}

// Products of both low parts are left out: see docs/numerics.md.
TEST_P(Fp16Parts, MultiplyIntegersExactlyUpTo2048) {
  Random random(13);
  Matrix x(40, 96);
  Matrix w(96, 40);
  for (float& v : x.values) v = static_cast<float>(static_cast<int>(random() % 4097) - 2048);
  for (float& v : w.values) v = static_cast<float>(static_cast<int>(random() % 3) - 1);
  const Matrix y = product(tiles(), x, w);
  const Matrix exact = product({}, x, w);
  for (std::size_t i = 0; i < y.values.size(); ++i) ASSERT_EQ(y.values[i], exact.values[i]);
  Matrix one_x(40, 1);
  Matrix one_w(1, 40);
  for (float& v : one_x.values) v = 2049;
  for (float& v : one_w.values) v = 2049;
  EXPECT_EQ(product(tiles(), one_x, one_w).values.front(), 2049.0F * 2049.0F - 1);
}

std::vector<Isa> levels() {
#if defined(__aarch64__)
  return {Isa::neon};
#else
  return {Isa::sse42, Isa::avx2, Isa::avx512};
#endif
}

INSTANTIATE_TEST_SUITE_P(Levels, Fp16Parts, testing::ValuesIn(levels()), [](const auto& param) {
  std::string name(to_string(param.param));
  std::erase(name, '.');
  return name;
});

}  // namespace
}  // namespace headroom::simd::fp16_parts_test
