// Products of bytes, held against their definition bit by bit: at every level, whether one
// instruction multiplies four bytes or not, in tiles of every height and width.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/element/few_bits.hpp"
#include "headroom/weights.hpp"
#include "processor/unit_facts.hpp"
#include "simd/project.hpp"

namespace headroom::simd::byte_products_test {
namespace {

struct Kernels {
  Isa isa;
  const FewBitsKernels* bytes;
  std::string name;
};

std::vector<Kernels> all_kernels() {
  std::vector<Kernels> all;
  for (const Isa isa : available_isas()) {
    const KernelTable& table = kernel_table(isa);
    std::string name(to_string(isa));
    std::erase(name, '.');
    all.push_back({isa, table.bytes, name});
    if (table.bytes_by_dots != nullptr && unit_facts().byte_dots) {
      all.push_back({isa, table.bytes_by_dots, name + "_dots"});
    }
  }
  return all;
}

struct Bytes {
  float scale = 0;
  std::vector<int> values;
};

// A 127th of the largest size; halves to even.
Bytes rounded(const float* x, std::int64_t count) {
  Bytes group;
  float most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i]));
  group.scale = most * (1 / 127.0F);
  const float larger = most < 0x1p-60F ? 0x1p60F : 1.0F;
  const float inverse = most > 0 ? 127 / (most * larger) : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    group.values.push_back(static_cast<int>(std::nearbyint(x[i] * larger * inverse)));
  }
  return group;
}

float multiply_add(Isa isa, float a, float b, float c) {
  if (isa != Isa::sse42) return std::fma(a, b, c);
  const volatile float product = a * b;
  return product + c;
}

Matrix by_definition(Isa isa, Storage storage, const Matrix& x, const Matrix& w,
                     const Matrix& bias) {
  Matrix y(x.rows, w.cols);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < w.cols; ++c) {
      float sum = bias.values[static_cast<std::size_t>(c)];
      for (std::int64_t k = 0; k < w.rows; k += kGroup) {
        const std::int64_t count = std::min(kGroup, w.rows - k);
        const Bytes group = rounded(x.view().row(r) + k, count);
        const WeightGroup weights = store_group(storage, w.view().row(k) + c, count, w.cols);
        int products = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(i);
          products += group.values[at] * weights.values[at];
        }
        sum = multiply_add(isa, static_cast<float>(products), weights.scale.value() * group.scale,
                           sum);
      }
      y.view().row(r)[c] = sum;
    }
  }
  return y;
}

class Products {
 public:
  Products(const Kernels& kernels, Storage storage, const Matrix& w, const Matrix& bias,
           std::int64_t most_rows)
      : products_(table(kernels), packed(kernels, storage, w, bias), most_rows, executor_,
                  project_variants(kernels.isa)[0], kernels.bytes) {}

  Matrix run(const Matrix& x) {
    Matrix y(x.rows, products_.weights()[0].cols());
    const AnyBlockedView to{y.values.data(), Dtype::f32, x.rows, y.cols, y.cols, y.cols, 0};
    products_.run(executor_, ConstAnyMatrix(x.view()), std::span(&to, 1));
    return y;
  }

 private:
  static const KernelTable& table(const Kernels& kernels) { return kernel_table(kernels.isa); }
  static std::vector<PackedMatrix> packed(const Kernels& kernels, Storage storage, const Matrix& w,
                                          const Matrix& bias) {
    std::vector<PackedMatrix> matrices;
    matrices.emplace_back(std::vector<ConstAnyMatrix>{w.view()},
                          std::vector<ConstAnyMatrix>{bias.view()}, table(kernels), storage,
                          SerialExecutor(), GroupOrder::words);
    return matrices;
  }

  SerialExecutor executor_;
  BlockedProducts products_;
};

Matrix drawn(std::int64_t rows, std::int64_t cols, std::uint32_t seed) {
  Matrix matrix(rows, cols);
  std::mt19937 bits(seed);
  std::normal_distribution<float> gaussian;
  for (float& value : matrix.values) value = gaussian(bits);
  return matrix;
}

bool same_bits(const Matrix& a, const Matrix& b) {
  return a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

/// The root of the sum of squares, over that of the expected values.
double distance(const Matrix& y, const Matrix& expected) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const double right = expected.values[i];
    difference += (y.values[i] - right) * (y.values[i] - right);
    norm += right * right;
  }
  return std::sqrt(difference / norm);
}

class ByteProducts : public testing::TestWithParam<Kernels> {};

// Depths that end within a group; columns that end within a vector, and fill the widest tile; rows
// of every tile.
TEST_P(ByteProducts, AreTheirDefinition) {
  for (const Storage storage : {Storage::q8, Storage::q4}) {
    for (const std::int64_t depth : {1, 31, 32, 33, 100}) {
      for (const std::int64_t cols : {1, 16, 40, 133}) {
        const Matrix w = drawn(depth, cols, 1);
        const Matrix bias = drawn(1, cols, 2);
        const Matrix x = drawn(61, depth, 3);
        Products products(GetParam(), storage, w, bias, x.rows);
        const Matrix expected = by_definition(GetParam().isa, storage, x, w, bias);
        for (std::int64_t rows = 1; rows <= x.rows; rows += rows < 16 ? 1 : 15) {
          SCOPED_TRACE(std::string(to_string(storage)) + ", " + std::to_string(rows) + " x " +
                       std::to_string(cols) + " x " + std::to_string(depth));
          Matrix some(rows, depth), some_expected(rows, cols);
          std::copy_n(x.values.begin(), some.values.size(), some.values.begin());
          std::copy_n(expected.values.begin(), some_expected.values.size(),
                      some_expected.values.begin());
          ASSERT_TRUE(same_bits(products.run(some), some_expected));
        }
      }
    }
  }
}

// The largest sums that there are; groups of zeros; numbers whose inverse no float holds.
TEST_P(ByteProducts, OfExtremeNumbers) {
  Matrix w = drawn(96, 32, 1);
  for (std::int64_t c = 0; c < w.cols; ++c) {
    for (std::int64_t k = 0; k < 32; ++k) w.view().row(k)[c] = c % 2 == 0 ? -1.0F : 1.0F;
  }
  const Matrix bias(1, 32);
  Matrix x = drawn(4, 96, 2);
  for (std::int64_t k = 0; k < 32; ++k) {
    x.view().row(0)[k] = 1;
    x.view().row(1)[k] = -1;
    x.view().row(2)[k] = 0;
    x.view().row(3)[k] *= 0x1p-126F;
  }
  for (const Storage storage : {Storage::q8, Storage::q4}) {
    Products products(GetParam(), storage, w, bias, 4);
    EXPECT_TRUE(same_bits(products.run(x), by_definition(GetParam().isa, storage, x, w, bias)));
  }
}

// 127 over the largest size is rounded upwards, too: the product of both may be a little more than
// 127, and must not become 128.
TEST_P(ByteProducts, StayBytesHoweverTheCallerRounds) {
  const Matrix w = drawn(128, 40, 1);
  const Matrix bias(1, 40);
  const Matrix x = drawn(30, 128, 2);
  for (const Storage storage : {Storage::q8, Storage::q4}) {
    Products products(GetParam(), storage, w, bias, x.rows);
    const Matrix expected = products.run(x);
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      std::fesetround(mode);
      const Matrix y = products.run(x);
      std::fesetround(FE_TONEAREST);
      EXPECT_LT(distance(y, expected), 0.02) << to_string(storage) << ", mode " << mode;
    }
  }
}

TEST_P(ByteProducts, OfWhatIsNotFiniteAreNanInItsRowAlone) {
  const Matrix w = drawn(64, 20, 1);
  const Matrix bias(1, 20);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Matrix x = drawn(3, 64, 2);
    const Matrix expected = by_definition(GetParam().isa, Storage::q8, x, w, bias);
    x.view().row(1)[40] = bad;
    const Matrix y = Products(GetParam(), Storage::q8, w, bias, 3).run(x);
    for (std::int64_t c = 0; c < y.cols; ++c) {
      EXPECT_EQ(y.view().row(0)[c], expected.view().row(0)[c]);
      EXPECT_TRUE(std::isnan(y.view().row(1)[c])) << c;
      EXPECT_EQ(y.view().row(2)[c], expected.view().row(2)[c]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ByteProducts, testing::ValuesIn(all_kernels()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace headroom::simd::byte_products_test
