#include "simd/packed_heads.hpp"

#include <algorithm>

#include "core/rounding.hpp"

namespace headroom::simd {

PackedHeads::PackedHeads(const KernelTable& kernels, std::int64_t head_dim, std::int64_t keys,
                         bool with_values)
    : kernels_(&kernels),
      head_dim_(head_dim),
      value_stride_(round_up(head_dim, kernels.lanes)),
      keys_(keys * head_dim),
      values_(with_values ? keys * value_stride_ : 0) {}

PackedHeads::Head PackedHeads::head(std::int64_t first) {
  Head head;
  head.keys = keys_.data() + first * head_dim_;
  if (values_.size() > 0) head.values = values_.data() + first * value_stride_;
  return head;
}

void PackedHeads::append(const Head& head, std::int64_t position, std::int64_t count,
                         const ConstBlockedView& k, const ConstBlockedView& v,
                         std::int64_t first_row, std::int64_t block) const {
  kernels_->pack_keys(k.at(first_row, block), k.row_stride, position, count, head_dim_, head.keys);
  if (head.values == nullptr) return;
  for (std::int64_t t = 0; t < count; ++t) {
    std::copy_n(v.at(first_row + t, block), head_dim_,
                head.values + (position + t) * value_stride_);
  }
}

void PackedHeads::zero(std::int64_t first, std::int64_t count) {
  const Head begin = head(first);
  std::fill_n(begin.keys, count * head_dim_, 0.0F);
  if (begin.values != nullptr) std::fill_n(begin.values, count * value_stride_, 0.0F);
}

}  // namespace headroom::simd
