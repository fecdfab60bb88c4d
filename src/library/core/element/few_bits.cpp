#include "core/element/few_bits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/element/read_matrix.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

constexpr float kMostOfQ8 = 127;
constexpr float kMostOfQ4 = 8;
constexpr float kMostScale = 65504;  // the largest finite fp16 number

float most_of(Storage storage) { return storage == Storage::q8 ? kMostOfQ8 : kMostOfQ4; }

}  // namespace

WeightGroup store_group(Storage storage, const float* weights, std::int64_t count,
                        std::int64_t stride) {
  float largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::abs(weights[i * stride]) > std::abs(largest)) largest = weights[i * stride];
  }
  const bool q8 = storage == Storage::q8;
  const float scale = q8 ? std::abs(largest) / kMostOfQ8 : largest / -kMostOfQ4;
  const float inverse = scale != 0 ? 1 / scale : 0;
  WeightGroup group{round_to_f16(scale)};
  for (std::int64_t i = 0; i < count; ++i) {
    const float steps = weights[i * stride] * inverse;
    // That of the largest magnitude is -8, so only its opposite has to be cut off, which is 8.
    group.values[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(
        q8 ? std::round(steps) : std::min(std::floor(steps + 0.5F), kMostOfQ4 - 1));
  }
  return group;
}

void round_weights(Storage storage, MatrixView weights) {
  if (storage == Storage::f32) return;
  for (std::int64_t k = 0; k < weights.rows; k += kGroup) {
    const std::int64_t count = std::min(kGroup, weights.rows - k);
    for (std::int64_t c = 0; c < weights.cols; ++c) {
      float* column = weights.row(k) + c;
      if (storage == Storage::bf16) {
        for (std::int64_t i = 0; i < count; ++i) {
          float& weight = column[i * weights.row_stride];
          weight = round_to_bf16(weight).value();
        }
        continue;
      }
      const WeightGroup group = store_group(storage, column, count, weights.row_stride);
      for (std::int64_t i = 0; i < count; ++i) column[i * weights.row_stride] = group.weight(i);
    }
  }
}

void check_storable(Storage storage, const char* name, const ConstAnyMatrix& weights) {
  if (!is_few_bits(storage)) return;
  const float most = most_of(storage) * kMostScale;
  std::vector<float> row(static_cast<std::size_t>(weights.cols));
  for (std::int64_t r = 0; r < weights.rows; ++r) {
    read_matrix(
        {weights.row(r), weights.dtype, 1, weights.cols, weights.row_stride, weights.col_stride},
        {row.data(), 1, weights.cols, weights.cols});
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (std::abs(row[c]) <= most) continue;
      throw InvalidArgument(
          fmt::format("{}: value ({}, {}) is {}; as {} weights from {} to {} can be stored", name,
                      r, c, row[c], to_string(storage), -most, most));
    }
  }
}

}  // namespace headroom
