// 2^x as softmax uses it, on every level that this machine has.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::simd::exp2_test {
namespace {

class Exp2 : public testing::TestWithParam<Isa> {
 protected:
  static std::vector<float> apply(const std::vector<float>& x) {
    std::vector<float> y(x.size());
    kernel_table(GetParam()).exp2(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    return y;
  }
};

TEST_P(Exp2, IsWithinTwoUlp) {
  std::vector<float> x;
  // Every 97th float from -125 to the one nearest to 0; their bits grow with their size.
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(-125.0F); bits > 0x80000000U + 97;
       bits -= 97) {
    x.push_back(std::bit_cast<float>(bits));
  }
  const std::vector<float> y = apply(x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double right = std::exp2(static_cast<double>(x[i]));
    const float below = static_cast<float>(right);
    const double ulp =
        static_cast<double>(std::nextafter(below, 2.0F)) - static_cast<double>(below);
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - right) / ulp);
  }
  EXPECT_LE(worst, 2.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST_P(Exp2, IsExactWhereTheResultIs) {
  std::vector<float> x;
  for (int n = 0; n >= -125; --n) x.push_back(static_cast<float>(n));
  const std::vector<float> y = apply(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y[i], std::ldexp(1.0F, static_cast<int>(x[i]))) << x[i];
  }
}

TEST_P(Exp2, IsZeroAndNeverDenormalFarBelow) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x{-infinity, -3.4e38F, -1e30F, -2147483648.0F, -1000.0F, -150.0F, -127.0F};
  for (int i = 0; i < 500; ++i) x.push_back(-130.0F + 0.01F * static_cast<float>(i));
  const std::vector<float> y = apply(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < -126.0F) {
      EXPECT_EQ(y[i], 0.0F) << x[i];
    }
    EXPECT_TRUE(y[i] == 0.0F || std::isnormal(y[i])) << x[i] << " gave " << y[i];
    EXPECT_FALSE(std::signbit(y[i])) << x[i];
  }
}

TEST_P(Exp2, PassesEveryNanOn) {
  std::vector<float> x;
  for (const std::uint32_t payload : {0x7fc00000U, 0x7fc00001U, 0x7fffffffU, 0xffc00000U,
                                      0xffc12345U, 0x7f800001U, 0xff800001U}) {
    x.push_back(std::bit_cast<float>(payload));
  }
  for (const float y : apply(x)) EXPECT_TRUE(std::isnan(y)) << y;
}

// A core of another build may list more levels than there are kernels.
TEST(KernelTable, OfALevelThatIsNotBuiltIsRefusedByName) {
#if defined(__aarch64__)
  constexpr Isa kForeign = Isa::avx2;
#else
  constexpr Isa kForeign = Isa::neon;
#endif
  try {
    kernel_table(kForeign);
    FAIL() << "it was found";
  } catch (const Unavailable& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(to_string(kForeign)), std::string::npos) << text;
    EXPECT_NE(text.find(to_string(available_isas().back())), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Exp2, testing::ValuesIn(available_isas()), [](const auto& level) {
  std::string name(to_string(level.param));
  std::erase(name, '.');
  return name;
});

}  // namespace
}  // namespace headroom::simd::exp2_test
