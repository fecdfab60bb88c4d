// Parts of matrices and biases, as copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "headroom/weights.hpp"

namespace headroom {

inline Matrix columns(const Matrix& from, std::int64_t first, std::int64_t count) {
  Matrix slice(from.rows, count);
  for (std::int64_t r = 0; r < from.rows; ++r) {
    std::copy_n(from.view().row(r) + first, count, slice.view().row(r));
  }
  return slice;
}

inline Matrix rows(const Matrix& from, std::int64_t first, std::int64_t count) {
  Matrix slice(count, from.cols);
  std::copy_n(from.view().row(first), count * from.cols, slice.values.data());
  return slice;
}

inline std::vector<float> part(const std::vector<float>& bias, std::int64_t first,
                               std::int64_t count) {
  if (bias.empty()) return {};
  return {bias.begin() + first, bias.begin() + first + count};
}

}  // namespace headroom
