// Attention of fp16 parts over given queries, keys and values: what is left to f32, what a row's
// bits follow from, and how exact the rest is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "core/executor.hpp"
#include "headroom/headroom.hpp"
#include "simd/attend.hpp"
#include "simd/tiles/tile_products.hpp"

namespace headroom::simd {
namespace {

constexpr std::int64_t kDim = 24;

std::uint32_t bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }

struct Problem {
  Matrix q, k, v;
};

Problem gaussian(std::int64_t tokens, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Problem problem{{tokens, kDim}, {tokens, kDim}, {tokens, kDim}};
  for (Matrix* matrix : {&problem.q, &problem.k, &problem.v}) {
    for (float& each : matrix->values) each = normal(random);
  }
  return problem;
}

class Fp16Attention : public testing::Test {
 protected:
  TileChoice tiles() const {
    TileChoice choice = choose_tiles({kernels_.isa, Unit::emulated}, Precision::fp16x3);
    choice.few_rows = 0;
    return choice;
  }
  Matrix run(const TileChoice& choice, Problem problem, double dropout = 0) const {
    Shape shape;
    shape.tokens = problem.q.rows;
    shape.d_in = shape.d_out = kDim;
    shape.heads = 1;
    shape.dropout = dropout;
    shape.dropout_seed = 5;
    const auto heads_of = [&](Matrix& matrix) {
      return BlockedView{matrix.view().data, matrix.rows, kDim, 1, kDim, kDim};
    };
    Matrix y(problem.q.rows, kDim);
    StreamingAttention attend(kernels_, choice, Dtype::f32, shape, executor_);
    const std::vector<Sequence> sequences = sequences_of(shape);
    attend.run(executor_,
               {heads_of(problem.q), heads_of(problem.k), heads_of(problem.v), heads_of(y),
                sequences, nullptr},
               nullptr);
    return y;
  }
  Matrix parts(const Problem& problem, double dropout = 0) const {
    return run(tiles(), problem, dropout);
  }
  Matrix floats(const Problem& problem, double dropout = 0) const {
    return run({}, problem, dropout);
  }

  const SerialExecutor executor_ = {};
  const KernelTable& kernels_ = kernel_table(available_isas().back());
};

void expect_same_rows(const Matrix& found, const Matrix& wanted, std::int64_t begin,
                      std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t c = 0; c < kDim; ++c) {
      ASSERT_EQ(bits(found.view().row(r)[c]), bits(wanted.view().row(r)[c])) << r << ", " << c;
    }
  }
}

std::int64_t same_rows(const Matrix& a, const Matrix& b) {
  std::int64_t same = 0;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    bool equal = true;
    for (std::int64_t c = 0; c < kDim; ++c) {
      equal = equal && bits(a.view().row(r)[c]) == bits(b.view().row(r)[c]);
    }
    same += equal ? 1 : 0;
  }
  return same;
}

/// In double; the element's magnitudes go to `sizes`.
Matrix defined(const Problem& problem, Matrix& sizes) {
  Matrix y(problem.q.rows, kDim);
  sizes = y;
  for (std::int64_t r = 0; r < y.rows; ++r) {
    std::vector<double> weights;
    double most = -std::numeric_limits<double>::infinity();
    for (std::int64_t k = 0; k <= r; ++k) {
      double score = 0;
      for (std::int64_t c = 0; c < kDim; ++c) {
        score += double{problem.q.view().row(r)[c]} * problem.k.view().row(k)[c];
      }
      weights.push_back(score / std::sqrt(double{kDim}));
      most = std::max(most, weights.back());
    }
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - most);
    for (std::int64_t c = 0; c < kDim; ++c) {
      double total = 0;
      double size = 0;
      for (std::int64_t k = 0; k <= r; ++k) {
        const double term = weights[static_cast<std::size_t>(k)] * problem.v.view().row(k)[c];
        total += term;
        size += std::abs(term);
      }
      y.view().row(r)[c] = static_cast<float>(total / sum);
      sizes.view().row(r)[c] = static_cast<float>(size / sum);
    }
  }
  return y;
}

/// Worst error of an element in units of 2^-24 of its magnitudes.
double worst_error(const Problem& problem, const Matrix& found) {
  Matrix sizes(0, 0);
  const Matrix wanted = defined(problem, sizes);
  double worst = 0;
  for (std::int64_t r = 0; r < wanted.rows; ++r) {
    for (std::int64_t c = 0; c < kDim; ++c) {
      const double size = sizes.view().row(r)[c];
      const double error = std::abs(double{found.view().row(r)[c]} - wanted.view().row(r)[c]);
      if (size > 0) worst = std::max(worst, error / size * 0x1p24);
    }
  }
  return worst;
}

TEST_F(Fp16Attention, IsMultipliedByPartsAndAsExactAsF32) {
  const Problem problem = gaussian(600);
  const Matrix y = parts(problem);
  EXPECT_LT(same_rows(y, floats(problem)), 60) << "was it computed by f32?";
  EXPECT_LT(worst_error(problem, y), 24);
  EXPECT_LT(worst_error(problem, y), 1.5 * worst_error(problem, floats(problem)) + 4);
}

// A key with large values that nobody attends to may not wear the others down.
TEST_F(Fp16Attention, LeavesBlocksOfValuesOfManySizesToF32) {
  for (const float size : {0x1p10F, 0x1p20F, 0x1p60F, 0x1p-40F}) {
    Problem problem = gaussian(300);
    const Matrix before = parts(problem);
    for (std::int64_t c = 0; c < kDim; ++c) problem.v.view().row(270)[c] *= size;
    const Matrix after = parts(problem);
    expect_same_rows(after, before, 0, 270);
    expect_same_rows(after, floats(problem), 270, 300);
  }
}

// Of another block they are summed apart, and have a power of two of their own.
TEST_F(Fp16Attention, MultipliesBlocksOfValuesOfDifferentSizes) {
  Problem problem = gaussian(600);
  for (std::int64_t r = 0; r < 256; ++r) {
    for (std::int64_t c = 0; c < kDim; ++c) problem.v.view().row(r)[c] *= 0x1p-30F;
  }
  const Matrix y = parts(problem);
  EXPECT_LT(same_rows(y, floats(problem)), 60);
  EXPECT_LT(worst_error(problem, y), 24);
}

TEST_F(Fp16Attention, LeavesColumnsOfValuesFarBelowTheOthersToF32) {
  for (const float size : {0x1p-14F, 0x1p-17F, 0x1p-19F, 0x1p-22F, 0x1p-26F, 0x1p-40F}) {
    Problem problem = gaussian(300);
    for (std::int64_t r = 0; r < 300; ++r) problem.v.view().row(r)[5] *= size;
    EXPECT_LT(worst_error(problem, parts(problem)), 24) << size;
  }
  Problem problem = gaussian(300);
  for (std::int64_t r = 0; r < 300; ++r) problem.v.view().row(r)[5] *= 0x1p-30F;
  expect_same_rows(parts(problem), floats(problem), 0, 300);
}

TEST_F(Fp16Attention, OfAColumnOfZerosIsMultipliedByParts) {
  Problem problem = gaussian(300);
  for (std::int64_t r = 0; r < 300; ++r) problem.v.view().row(r)[5] = 0;
  problem.v.view().row(3)[6] *= 0x1p-25F;  // and one deep value
  for (std::int64_t c = 0; c < kDim; ++c) problem.v.view().row(7)[c] = 0;
  const Matrix y = parts(problem);
  EXPECT_LT(same_rows(y, floats(problem)), 60);
  EXPECT_LT(worst_error(problem, y), 24);
}

TEST_F(Fp16Attention, LeavesQueriesAndKeysThatOpposeEachOtherToF32) {
  for (const float binades : {20.0F, 30.0F, 44.0F}) {
    Problem problem = gaussian(300);
    for (std::int64_t c = 0; c < kDim; ++c) {
      const float factor =
          std::exp2(binades * (static_cast<float>(c) / static_cast<float>(kDim - 1) - 0.5F));
      for (std::int64_t r = 0; r < 300; ++r) {
        problem.q.view().row(r)[c] *= factor;
        problem.k.view().row(r)[c] /= factor;
      }
    }
    EXPECT_LT(worst_error(problem, parts(problem)), 40) << binades;
  }
}

// One such key sends those rows to f32 that see it.
TEST_F(Fp16Attention, OfOneKeyReachesTheRowsThatSeeIt) {
  Problem problem = gaussian(300);
  const Matrix before = parts(problem);
  for (std::int64_t c = 1; c < kDim; ++c) problem.k.view().row(100)[c] *= 0x1p-20F;
  const Matrix after = parts(problem);
  expect_same_rows(after, before, 0, 100);
  expect_same_rows(after, floats(problem), 100, 300);
}

// Neither the powers of two nor the checks may know of them.
TEST_F(Fp16Attention, FollowsFromNoLaterKeys) {
  const Problem first = gaussian(300);
  const Matrix before = parts(first);
  for (const float size : {0x1p3F, 0x1p-3F, 0x1p40F, 0x1p-60F, 0x1p-125F, 0x1p120F, 0.0F,
                           std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t row : {1, 33, 250, 256, 270}) {
      Problem problem = first;
      for (std::int64_t c = 0; c < kDim; ++c) {
        problem.k.view().row(row)[c] *= size;
        problem.v.view().row(row)[(c * 7) % kDim] *= c % 2 == 0 ? size : 1;
      }
      expect_same_rows(parts(problem), before, 0, row);
    }
  }
}

TEST_F(Fp16Attention, WeighsWhatDropoutKeeps) {
  const Problem problem = gaussian(300);
  for (const double dropout : {0.3, 0.5, 0.9, 0.999, 0.999999}) {
    const Matrix y = parts(problem, dropout);
    const Matrix wanted = floats(problem, dropout);
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      error += std::pow(double{y.values[i]} - wanted.values[i], 2);
      size += std::pow(double{wanted.values[i]}, 2);
    }
    EXPECT_LE(std::sqrt(error), 1e-6 * std::sqrt(size)) << dropout;
  }
}

TEST_F(Fp16Attention, OfTheExponentsEnds) {
  for (const auto& [of_q, of_k, of_v] : {std::tuple{0x1p-60F, 0x1p60F, 0x1p-90F},
                                         {0x1p100F, 0x1p-105F, 0x1p100F},
                                         {0x1p-110F, 0x1p112F, 0x1p-97F},
                                         {1.0F, 1.0F, 0x1p-105F},
                                         {1.0F, 1.0F, 0x1p-124F},
                                         {0x1p-130F, 0x1p120F, 1.0F}}) {
    Problem problem = gaussian(300);
    for (float& each : problem.q.values) each *= of_q;
    for (float& each : problem.k.values) each *= of_k;
    for (float& each : problem.v.values) each *= of_v;
    const Matrix y = parts(problem);
    const Matrix wanted = floats(problem);
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      error += std::pow((double{y.values[i]} - wanted.values[i]) / of_v, 2);
      size += std::pow(double{wanted.values[i]} / of_v, 2);
    }
    EXPECT_LE(std::sqrt(error), 2e-6 * std::sqrt(size)) << of_q << ", " << of_v;
  }
}

}  // namespace
}  // namespace headroom::simd
