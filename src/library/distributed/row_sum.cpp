#include "distributed/row_sum.hpp"

#include <algorithm>

namespace headroom::distributed {
namespace {

bool covers(const Columns& part, std::int64_t width) { return part.count == width; }

}  // namespace

void RowSum::write(std::int64_t row, float* out) const {
  std::size_t next = 0;
  if (!parts_.empty() && covers(parts_.front(), width_)) {
    const float* first = parts_.front().data + row * parts_.front().stride;
    next = 1;
    // Two of them in one pass, because one machine has two sockets more often than not.
    if (parts_.size() > 1 && covers(parts_[1], width_)) {
      const float* second = parts_[1].data + row * parts_[1].stride;
      for (std::int64_t i = 0; i < width_; ++i) out[i] = first[i] + second[i];
      next = 2;
    } else {
      std::copy_n(first, width_, out);
    }
  } else {
    std::fill_n(out, width_, 0.0F);
  }
  for (; next < parts_.size(); ++next) {
    const Columns& part = parts_[next];
    const float* from = part.data + row * part.stride;
    float* to = out + part.first;
    for (std::int64_t i = 0; i < part.count; ++i) to[i] += from[i];
  }
}

}  // namespace headroom::distributed
