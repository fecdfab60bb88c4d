// Keys and values that come into a cache are rounded to the numbers of `round_by_bytes`, at every
// level, in both orders of bytes, and nothing beside them is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/element/convert.hpp"
#include "core/rounding.hpp"
#include "headroom/headroom.hpp"
#include "simd/round_task.hpp"

namespace headroom::simd::round_cache_test {
namespace {

constexpr std::int8_t kUntouched = 77;

// Numbers of one scale each. Every fifth row has halves, numbers of very different size, signed
// zeros or what is no number.
std::vector<std::vector<float>> rows_of(std::int64_t count, std::int64_t length) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> special{0.5F, -1.5F, 2.5F, -0.0F, 126.5F, 9e6F, 1e-40F, nan, -inf};
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> rows;
  for (std::int64_t r = 0; r < count; ++r) {
    const float size = std::exp2(static_cast<float>(r % 40) - 30);
    std::vector<float>& row = rows.emplace_back();
    for (std::int64_t i = 0; i < length; ++i) row.push_back(size * normal(random));
    if (r % 5 == 1) {
      row[static_cast<std::size_t>(r % length)] = special[static_cast<std::size_t>(r / 5) % 9];
    }
    if (r % 5 == 2) row.back() = 127;
    if (r % 7 == 3) row.assign(row.size(), 0.0F);
  }
  return rows;
}

// NaN where both are none.
void expect_number(float here, float expected) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(here)) << here;
  } else {
    EXPECT_EQ(here, expected);
  }
}

float number(std::int8_t byte, Half scale) { return F16{scale}.value() * static_cast<float>(byte); }

struct RoundCache : testing::TestWithParam<Isa> {
  const KernelTable& kernels = kernel_table(GetParam());
};

void expect_keys_rounded(const KernelTable& kernels, std::int64_t dim, CacheOrder order) {
  const bool words = order == CacheOrder::words;
  SCOPED_TRACE(testing::Message() << dim << " channels" << (words ? ", words" : ", floats"));
  const std::int64_t panel = 2 * kernels.lanes;
  const auto panel_place = [&](std::int64_t c, std::int64_t key, std::int64_t width) {
    return key / panel * panel * width + c * panel + key % panel;
  };
  const std::vector<std::vector<float>> channels = rows_of(dim, kCacheBlock);
  std::vector<float> panels(static_cast<std::size_t>(dim * kCacheBlock));
  for (std::int64_t c = 0; c < dim; ++c) {
    for (std::int64_t key = 0; key < kCacheBlock; ++key) {
      panels[static_cast<std::size_t>(panel_place(c, key, dim))] =
          channels[static_cast<std::size_t>(c)][static_cast<std::size_t>(key)];
    }
  }
  const std::int64_t width = words ? whole_groups(dim) : dim;
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(width * kCacheBlock));
  std::vector<Half> scales(static_cast<std::size_t>(round_up(dim, 32)));
  kernels.round_keys({panels.data(), dim, order, bytes.data(), width, scales.data()});
  const auto byte_at = [&](std::int64_t c, std::int64_t key) {
    const std::int64_t in_word =
        panel_place(c / 4 * 4, key / panel * panel, width) + key % panel * 4 + c % 4;
    return bytes[static_cast<std::size_t>(words ? in_word : panel_place(c, key, width))];
  };
  for (std::int64_t c = 0; c < dim; ++c) {
    std::vector<float> expected = channels[static_cast<std::size_t>(c)];
    round_by_bytes(expected.data(), kCacheBlock);
    for (std::int64_t key = 0; key < kCacheBlock; ++key) {
      const int byte = byte_at(c, key) - (words ? 128 : 0);
      expect_number(number(static_cast<std::int8_t>(byte), scales[static_cast<std::size_t>(c)]),
                    expected[static_cast<std::size_t>(key)]);
    }
  }
  for (std::int64_t c = dim; c < width; ++c) {
    for (std::int64_t key = 0; key < kCacheBlock; ++key) EXPECT_EQ(byte_at(c, key), 0);
  }
}

TEST_P(RoundCache, GivesKeysTheBytesOfTheirChannel) {
  for (const std::int64_t dim : {1, 3, 4, 7, 16, 31, 33, 64, 80, 130}) {
    expect_keys_rounded(kernels, dim, CacheOrder::floats);
    expect_keys_rounded(kernels, dim, CacheOrder::words);
  }
}

struct Values {
  std::int64_t dim, count, position;
  CacheOrder order;
};

void expect_values_rounded(const KernelTable& kernels, const Values& of) {
  const bool words = of.order == CacheOrder::words;
  SCOPED_TRACE(testing::Message() << of.count << " tokens of " << of.dim << " from " << of.position
                                  << (words ? ", words" : ", floats"));
  const std::vector<std::vector<float>> tokens = rows_of(of.count, of.dim);
  const std::int64_t apart = of.dim + 3;
  std::vector<float> rows(static_cast<std::size_t>(of.count * apart));
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    std::copy(tokens[t].begin(), tokens[t].end(),
              rows.begin() + static_cast<std::int64_t>(t) * apart);
  }
  const std::int64_t stride = round_up(of.dim, kernels.lanes);
  const std::int64_t places = round_up(of.position + of.count, 4) + 4;
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(places * stride), kUntouched);
  std::vector<Half> scales(static_cast<std::size_t>(places), kUntouched);
  kernels.round_values({{rows.data(), Dtype::f32, apart},
                        of.count,
                        of.dim,
                        of.position,
                        of.order,
                        bytes.data(),
                        stride,
                        scales.data()});
  const auto byte_at = [&](std::int64_t t, std::int64_t c) {
    return bytes[static_cast<std::size_t>(words ? t / 4 * 4 * stride + c * 4 + t % 4
                                                : t * stride + c)];
  };
  for (std::int64_t t = 0; t < places; ++t) {
    const Half scale = scales[static_cast<std::size_t>(t)];
    if (t < of.position || t >= of.position + of.count) {
      EXPECT_EQ(scale, kUntouched);
      for (std::int64_t c = 0; c < of.dim; ++c) EXPECT_EQ(byte_at(t, c), kUntouched);
      continue;
    }
    std::vector<float> expected = tokens[static_cast<std::size_t>(t - of.position)];
    round_by_bytes(expected.data(), of.dim);
    for (std::int64_t c = 0; c < of.dim; ++c) {
      expect_number(number(byte_at(t, c), scale), expected[static_cast<std::size_t>(c)]);
    }
  }
}

TEST_P(RoundCache, GivesValuesTheBytesOfTheirToken) {
  for (const std::int64_t dim : {1, 5, 16, 33, 64, 100}) {
    for (const std::int64_t count : {1, 2, 3, 5, 17, 40}) {
      for (const std::int64_t position : {0, 1, 3, 6}) {
        expect_values_rounded(kernels, {dim, count, position, CacheOrder::floats});
        expect_values_rounded(kernels, {dim, count, position, CacheOrder::words});
      }
    }
  }
}

TEST_P(RoundCache, ReadsValuesOfBfloat16) {
  constexpr std::int64_t kDim = 37;
  std::vector<Bf16> rows(kDim);
  std::vector<float> expected(kDim);
  for (std::int64_t c = 0; c < kDim; ++c) {
    rows[static_cast<std::size_t>(c)] = round_to_bf16(std::sin(static_cast<float>(c)));
    expected[static_cast<std::size_t>(c)] = rows[static_cast<std::size_t>(c)].value();
  }
  round_by_bytes(expected.data(), kDim);
  const std::int64_t stride = round_up(kDim, kernels.lanes);
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(stride));
  Half scale = 0;
  kernels.round_values({{rows.data(), Dtype::bf16, kDim},
                        1,
                        kDim,
                        0,
                        CacheOrder::floats,
                        bytes.data(),
                        stride,
                        &scale});
  for (std::size_t c = 0; c < kDim; ++c) EXPECT_EQ(number(bytes[c], scale), expected[c]) << c;
}

INSTANTIATE_TEST_SUITE_P(Levels, RoundCache, testing::ValuesIn(available_isas()),
                         [](const auto& level) {
                           std::string name(to_string(level.param));
                           std::erase(name, '.');
                           return name;
                         });

}  // namespace
}  // namespace headroom::simd::round_cache_test
