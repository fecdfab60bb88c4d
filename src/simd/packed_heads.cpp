#include "simd/packed_heads.hpp"

#include <cstring>

#include "core/rounding.hpp"

namespace headroom::simd {
namespace {

std::byte* at(void* data, std::int64_t bytes) { return static_cast<std::byte*>(data) + bytes; }

AlignedBuffer buffer_of(std::int64_t bytes) {
  return AlignedBuffer(divide_up(bytes, static_cast<std::int64_t>(sizeof(float))));
}

}  // namespace

PackedHeads::PackedHeads(const KernelTable& kernels, Dtype dtype, std::int64_t head_dim,
                         std::int64_t keys, bool with_values)
    : kernels_(&kernels.stored(dtype)),
      element_bytes_(dtype == Dtype::f32 ? sizeof(float) : sizeof(Half)),
      head_dim_(head_dim),
      value_stride_(round_up(head_dim, kernels.lanes)),
      keys_(buffer_of(bytes_of(keys * head_dim))),
      values_(buffer_of(with_values ? bytes_of(keys * value_stride_) : 0)) {}

std::int64_t PackedHeads::bytes_of(std::int64_t elements) const {
  return elements * element_bytes_;
}

PackedHeads::Head PackedHeads::head(std::int64_t first) {
  Head head;
  head.keys = at(keys_.data(), bytes_of(first * head_dim_));
  if (values_.size() > 0) head.values = at(values_.data(), bytes_of(first * value_stride_));
  return head;
}

void PackedHeads::append(const Head& head, std::int64_t position, std::int64_t count,
                         const ConstBlockedView& k, const ConstBlockedView& v,
                         std::int64_t first_row, std::int64_t block) const {
  kernels_->pack_keys(k.at(first_row, block), k.row_stride, position, count, head_dim_, head.keys);
  if (head.values == nullptr) return;
  for (std::int64_t t = 0; t < count; ++t) {
    kernels_->copy(v.at(first_row + t, block), head_dim_,
                   at(head.values, bytes_of((position + t) * value_stride_)));
  }
}

void PackedHeads::zero(std::int64_t first, std::int64_t count) {
  const Head begin = head(first);
  std::memset(begin.keys, 0, static_cast<std::size_t>(bytes_of(count * head_dim_)));
  if (begin.values == nullptr) return;
  std::memset(begin.values, 0, static_cast<std::size_t>(bytes_of(count * value_stride_)));
}

}  // namespace headroom::simd
