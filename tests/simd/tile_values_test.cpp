// Values that parts cannot carry take the f32 kernels: exactly the rows and blocks of columns that
// they reach, with the bits of those kernels, and nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "headroom/headroom.hpp"
#include "simd/attend.hpp"
#include "simd/project.hpp"
#include "simd/tiles/tile_products.hpp"

namespace headroom::simd::tile_values_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargestOfBf16 = 0x1.fep127F;

/// Those that parts of a precision cannot carry. Rounding makes an infinity of what is above the
/// largest bfloat16; truncated parts carry it.
std::vector<float> impossible(Precision precision) {
  std::vector<float> values{kInf, -kInf, kNan};
  // To fp16 parts a small number is harmless among others, see fp16_parts_test.
  if (precision != Precision::fp16x3) {
    values.insert(values.end(), {0x1.fp-105F, -0x1p-105F, 0x1p-133F, 0x1p-149F});
  }
  // Rounded as numbers are, these would be zeros.
  for (const std::uint32_t nan : {0x7fff8000U, 0x7fffffffU, 0xffff8000U, 0xffffffffU}) {
    values.push_back(__builtin_bit_cast(float, nan));
  }
  if (precision == Precision::bf16x3 || precision == Precision::bf16) {
    values.insert(values.end(), {std::numeric_limits<float>::max(), -0x1.ffp127F});
  }
  return values;
}

/// In queries, keys and values one range is for every precision of bfloat16 parts. Of fp16 parts
/// the largest number leaves nothing of those beside it.
std::vector<float> impossible_in_attention(Precision precision) {
  if (precision != Precision::fp16x3) return impossible(Precision::bf16);
  std::vector<float> values = impossible(precision);
  values.insert(values.end(), {std::numeric_limits<float>::max(), -0x1.ffp127F});
  return values;
}

/// Of weights, keys and values: some are stored as zeros, which parts carry.
std::vector<float> still_impossible(std::vector<float> values, Dtype dtype) {
  std::erase_if(values, [&](float value) {
    return dtype == Dtype::bf16 && round_to_bf16(value).value() == 0;
  });
  return values;
}

std::uint32_t bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }

class TileValues : public testing::TestWithParam<Numbers> {
 protected:
  static Precision precision() { return GetParam().precision; }
  TileChoice tiles() const {
    TileChoice choice = choose_tiles({kernels_.isa, Unit::emulated}, precision());
    choice.few_rows = 0;
    return choice;
  }

  Matrix product(const TileChoice& choice, const Matrix& x, const Matrix& w) const {
    return product(choice, x, w, GetParam().dtype);
  }
  Matrix product(const TileChoice& choice, const Matrix& x, const Matrix& w, Dtype dtype) const {
    std::vector<PackedMatrix> packed;
    packed.emplace_back(std::vector<ConstAnyMatrix>{w.view()}, std::vector<ConstAnyMatrix>{},
                        kernels_, storage_of(dtype), executor_);
    Matrix y(x.rows, w.cols);
    const AnyBlockedView out = BlockedView{y.view().data, x.rows, w.cols, 1, w.cols, 0};
    if (choice.kernels != nullptr) {
      TileProducts products(choice, kernels_, packed, x.rows, executor_);
      products.run(executor_, x.view(), std::span(&out, 1));
    } else {
      BlockedProducts products(kernels_, std::move(packed), x.rows, executor_,
                               project_variants(kernels_.isa).front());
      products.run(executor_, x.view(), std::span(&out, 1));
    }
    return y;
  }

  /// Of one key head, and as many query heads as q is wider than k.
  Matrix attention(const TileChoice& choice, const Matrix& q, const Matrix& k,
                   const Matrix& v) const {
    return attention(choice, q, k, v, GetParam().dtype);
  }
  Matrix attention(const TileChoice& choice, Matrix q, Matrix k, Matrix v, Dtype dtype) const {
    Case shape;
    shape.tokens = q.rows;
    shape.d_in = shape.d_out = q.cols;
    shape.heads = q.cols / k.cols;
    shape.kv_heads = 1;
    const auto heads_of = [&](Matrix& matrix) {
      return BlockedView{matrix.view().data,   matrix.rows, matrix.cols,
                         matrix.cols / k.cols, k.cols,      k.cols};
    };
    Matrix y(q.rows, q.cols);
    StreamingAttention attend(kernels_, choice, storage_of(dtype), shape, executor_);
    const std::vector<Sequence> sequences = sequences_of(shape);
    attend.run(executor_, {heads_of(q), heads_of(k), heads_of(v), heads_of(y), sequences, nullptr},
               nullptr);
    return y;
  }

  /// Bits of `exact` where that is asked for, else of `before`.
  static void expect_exact(const Matrix& found, const Matrix& exact, const Matrix& before,
                           const std::function<bool(std::int64_t, std::int64_t)>& is_exact,
                           float value) {
    for (std::int64_t r = 0; r < found.rows; ++r) {
      for (std::int64_t c = 0; c < found.cols; ++c) {
        const Matrix& wanted = is_exact(r, c) ? exact : before;
        ASSERT_EQ(bits(found.view().row(r)[c]), bits(wanted.view().row(r)[c]))
            << std::hex << bits(value) << std::dec << ", seen at " << r << ", " << c;
      }
    }
  }

  static Matrix gaussian(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    Case shape;
    shape.tokens = rows;
    shape.d_in = shape.d_out = cols;
    return gaussian_input(shape.rows(), shape, seed);
  }

  const SerialExecutor executor_ = {};
  const KernelTable& kernels_ = kernel_table(available_isas().back());
};

TEST_P(TileValues, OfXSendTheirRowToF32) {
  const Matrix w = gaussian(1060, 40, 2);
  Matrix x = gaussian(37, 1060, 1);
  const Matrix before = product(tiles(), x, w);
  for (const float value : impossible(precision())) {
    for (const std::int64_t column : {0, 700, 1059}) {  // of several stages
      const float kept = x.view().row(20)[column];
      x.view().row(20)[column] = value;
      const Matrix found = product(tiles(), x, w);
      const Matrix exact = product({}, x, w);
      x.view().row(20)[column] = kept;
      for (std::int64_t r = 0; r < 37; ++r) {
        const Matrix& wanted = r == 20 ? exact : before;
        for (std::int64_t c = 0; c < 40; ++c) {
          ASSERT_EQ(bits(found.view().row(r)[c]), bits(wanted.view().row(r)[c]))
              << value << " in column " << column << ", seen at " << r << ", " << c;
        }
      }
    }
  }
}

TEST_P(TileValues, OfWeightsSendTheirColumnsToF32) {
  const Matrix x = gaussian(37, 50, 1);
  Matrix w = gaussian(50, 100, 2);
  const Matrix before = product(tiles(), x, w);
  for (const float value : still_impossible(impossible(precision()), GetParam().dtype)) {
    const float kept = w.view().row(33)[70];
    w.view().row(33)[70] = value;
    const Matrix found = product(tiles(), x, w);
    const Matrix exact = product({}, x, w);
    w.view().row(33)[70] = kept;
    for (std::int64_t r = 0; r < 37; ++r) {
      for (std::int64_t c = 0; c < 100; ++c) {
        const float seen = found.view().row(r)[c];
        if (c == 70) {
          ASSERT_EQ(bits(seen), bits(exact.view().row(r)[c])) << value << ", row " << r;
        } else if (c < 64 || c >= 96) {
          ASSERT_EQ(bits(seen), bits(before.view().row(r)[c])) << value << " at " << r << ", " << c;
        } else {
          ASSERT_TRUE(bits(seen) == bits(before.view().row(r)[c]) ||
                      bits(seen) == bits(exact.view().row(r)[c]))
              << value << " at " << r << ", " << c;
        }
      }
    }
  }
}

TEST_P(TileValues, OfQueriesReachTheRowsOfTheirHead) {
  Matrix q = gaussian(70, 3 * 24, 1);
  const Matrix k = gaussian(70, 24, 2);
  const Matrix v = gaussian(70, 24, 3);
  const Matrix before = attention(tiles(), q, k, v);
  for (const float value : impossible_in_attention(GetParam().precision)) {
    for (const std::int64_t column : {0, 24 + 17, 71}) {
      const float kept = q.view().row(41)[column];
      q.view().row(41)[column] = value;
      const auto is_exact = [&](std::int64_t r, std::int64_t c) {
        return r == 41 && c / 24 == column / 24;
      };
      expect_exact(attention(tiles(), q, k, v), attention({}, q, k, v), before, is_exact, value);
      q.view().row(41)[column] = kept;
    }
  }
}

TEST_P(TileValues, OfKeysAndValuesReachTheRowsThatSeeThem) {
  const Matrix q = gaussian(300, 2 * 24, 1);
  Matrix k = gaussian(300, 24, 2);
  Matrix v = gaussian(300, 24, 3);
  const Matrix before = attention(tiles(), q, k, v);
  for (const float value :
       still_impossible(impossible_in_attention(GetParam().precision), GetParam().dtype)) {
    for (Matrix* const changed : {&k, &v}) {
      for (const std::int64_t row : {50, 270}) {  // of several blocks of keys
        const float kept = changed->view().row(row)[23];
        changed->view().row(row)[23] = value;
        const auto sees_it = [&](std::int64_t r, std::int64_t) { return r >= row; };
        expect_exact(attention(tiles(), q, k, v), attention({}, q, k, v), before, sees_it, value);
        changed->view().row(row)[23] = kept;
      }
    }
  }
}

// Their products are ordinary numbers, and so are those of f32.
TEST_P(TileValues, SmallQueriesAndLargeKeysAreMultipliedExactly) {
  for (const float scale : {0x1p-120F, 0x1p120F}) {
    Matrix q = gaussian(70, 24, 1);
    Matrix k = gaussian(70, 24, 2);
    const Matrix v = gaussian(70, 24, 3);
    for (float& each : q.values) each *= scale;
    for (float& each : k.values) each /= scale;
    const Matrix exact = attention({}, q, k, v);
    expect_exact(
        attention(tiles(), q, k, v), exact, exact, [](auto, auto) { return true; }, scale);
  }
}

double unit_of(Precision precision) {
  if (precision == Precision::bf16) return 0x1p-8;
  return precision == Precision::bf16x3 ? 0x1p-15 : 0x1p-21;
}

// Just inside the borders parts carry everything, so that there is no cliff there.
TEST_P(TileValues, AtTheBordersAreMultiplied) {
  for (const float scale : {0x1p-100F, 0x1p120F}) {
    Matrix x = gaussian(40, 64, 1);
    Matrix w = gaussian(64, 40, 2);
    for (float& each : x.values) each *= scale;
    for (float& each : w.values) each = each > 0 ? 1.0F : -1.0F;
    const Matrix found = product(tiles(), x, w);
    const Matrix exact = product({}, x, w);
    for (std::int64_t r = 0; r < 40; ++r) {
      for (std::int64_t c = 0; c < 40; ++c) {
        const double error = std::abs(double{found.view().row(r)[c]} - exact.view().row(r)[c]);
        ASSERT_LE(error, unit_of(precision()) * 8 * 8 * double{scale}) << scale;
      }
    }
  }
  Matrix x(40, 64);
  Matrix w(64, 40);
  for (float& each : w.values) each = 0x1p-10F;
  for (std::int64_t r = 0; r < 40; ++r) x.view().row(r)[5] = kLargestOfBf16;
  EXPECT_EQ(product(tiles(), x, w).view().row(39)[39], kLargestOfBf16 * 0x1p-10F);
}

Matrix rounded(Matrix matrix) {
  for (float& each : matrix.values) each = round_to_bf16(each).value();
  return matrix;
}

// Their further parts are zeros, and products of zeros are left out.
TEST_P(TileValues, StoredAsBfloat16HaveTheBitsOfAllParts) {
  const auto expect_equal = [](const Matrix& stored, const Matrix& whole) {
    for (std::size_t i = 0; i < whole.values.size(); ++i) {
      ASSERT_EQ(stored.values[i], whole.values[i]) << "element " << i;
    }
  };
  const Matrix w = rounded(gaussian(1060, 100, 2));
  const Matrix x = gaussian(37, 1060, 1);
  expect_equal(product(tiles(), x, w, Dtype::bf16), product(tiles(), x, w, Dtype::f32));
  const Matrix q = gaussian(300, 2 * 24, 1);
  const Matrix k = rounded(gaussian(300, 24, 2));
  const Matrix v = rounded(gaussian(300, 24, 3));
  expect_equal(attention(tiles(), q, k, v, Dtype::bf16), attention(tiles(), q, k, v, Dtype::f32));
}

// What is not multiplied takes no room.
TEST_P(TileValues, StoredAsBfloat16TakeOnePartOfMemory) {
  const Matrix w = gaussian(64, 96, 2);
  const std::vector<ConstAnyMatrix> views{w.view()};
  std::vector<PackedMatrix> packed;
  packed.emplace_back(views, std::vector<ConstAnyMatrix>{}, kernels_, Storage::bf16, executor_);
  const TileProducts products(tiles(), kernels_, packed, 32, executor_);
  const bool counted = GetParam().precision == Precision::fp16x3;  // for the range check
  EXPECT_EQ(products.packed_bytes(),
            64 * 96 * 2 + (counted ? 3 * std::int64_t{sizeof(Fp16Range)} : 0));
}

std::vector<Numbers> numbers_of_parts() {
  std::vector<Numbers> all;
  for (const Precision precision : kAllPrecisions) {
    if (precision == Precision::f32 || precision == Precision::int8) continue;
    all.push_back({precision, Dtype::f32});
    all.push_back({precision, Dtype::bf16});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Numbers, TileValues, testing::ValuesIn(numbers_of_parts()),
                         [](const auto& param) {
                           return std::string(to_string(param.param.precision)) + "_" +
                                  std::string(to_string(param.param.dtype));
                         });

}  // namespace
}  // namespace headroom::simd::tile_values_test
