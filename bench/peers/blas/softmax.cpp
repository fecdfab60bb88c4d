// Alone in its file, because it is compiled for this machine and with sums in any order, so that
// the compiler vectorises it, exp included.
#include "softmax.hpp"

#include <algorithm>
#include <cmath>

namespace headroom::peers {
namespace {

void softmax_row(float* scores, std::int64_t visible) {
  float most = scores[0];
  for (std::int64_t j = 1; j < visible; ++j) most = std::max(most, scores[j]);
  float sum = 0;
  for (std::int64_t j = 0; j < visible; ++j) {
    scores[j] = std::exp(scores[j] - most);
    sum += scores[j];
  }
  const float factor = 1 / sum;
  for (std::int64_t j = 0; j < visible; ++j) scores[j] *= factor;
}

}  // namespace

void softmax_rows(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t first,
                  std::int64_t keys) {
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = scores + i * stride;
    const std::int64_t visible = first + i + 1;
    softmax_row(row, visible);
    std::fill(row + visible, row + keys, 0.0F);
  }
}

}  // namespace headroom::peers
