#include "core/side_by_side.hpp"

#include <algorithm>

namespace headroom {

std::int64_t total_cols(const std::vector<ConstMatrixView>& parts) {
  std::int64_t cols = 0;
  for (const ConstMatrixView& part : parts) cols += part.cols;
  return cols;
}

AlignedBuffer side_by_side(const std::vector<ConstMatrixView>& parts) {
  const std::int64_t depth = parts.front().rows;
  AlignedBuffer whole(depth * total_cols(parts));
  float* to = whole.data();
  for (std::int64_t k = 0; k < depth; ++k) {
    for (const ConstMatrixView& part : parts) to = std::copy_n(part.row(k), part.cols, to);
  }
  return whole;
}

AlignedBuffer end_to_end(const std::vector<const float*>& biases,
                         const std::vector<ConstMatrixView>& parts, std::int64_t size) {
  AlignedBuffer whole(size);
  float* to = whole.data();
  for (std::size_t i = 0; i < parts.size(); ++i) to = std::copy_n(biases[i], parts[i].cols, to);
  std::fill(to, whole.data() + size, 0.0F);
  return whole;
}

}  // namespace headroom
