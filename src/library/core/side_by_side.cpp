#include "core/side_by_side.hpp"

#include <algorithm>

#include "core/element/read_matrix.hpp"

namespace headroom {
namespace {

// @return the end of what was written
float* join(const std::vector<ConstAnyMatrix>& parts, std::int64_t cols, float* to) {
  for (const ConstAnyMatrix& part : parts) {
    read_matrix(part, {to, part.rows, part.cols, cols});
    to += part.cols;
  }
  return to;
}

}  // namespace

std::int64_t total_cols(const std::vector<ConstAnyMatrix>& parts) {
  std::int64_t cols = 0;
  for (const ConstAnyMatrix& part : parts) cols += part.cols;
  return cols;
}

AlignedBuffer side_by_side(const std::vector<ConstAnyMatrix>& parts) {
  const std::int64_t cols = total_cols(parts);
  AlignedBuffer whole(parts.front().rows * cols);
  join(parts, cols, whole.data());
  return whole;
}

AlignedBuffer end_to_end(const std::vector<ConstAnyMatrix>& biases, std::int64_t size) {
  AlignedBuffer whole(size);
  float* end = join(biases, size, whole.data());
  std::fill(end, whole.data() + size, 0.0F);
  return whole;
}

}  // namespace headroom
