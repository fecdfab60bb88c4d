#include "simd/packed_heads.hpp"

#include <cstring>

#include "core/rounding.hpp"

namespace headroom::simd {

PackedHeads::PackedHeads(const KernelTable& kernels, Dtype dtype, std::int64_t head_dim,
                         std::int64_t value_dim, std::int64_t keys, bool with_values)
    : kernels_(&kernels.stored(dtype)),
      dtype_(dtype),
      head_dim_(head_dim),
      value_dim_(value_dim),
      value_stride_(round_up(value_dim, kernels.lanes)),
      keys_(stored_buffer(dtype, keys * head_dim)),
      values_(stored_buffer(dtype, with_values ? keys * value_stride_ : 0)) {}

PackedHeads::Head PackedHeads::head(std::int64_t first) {
  Head head;
  head.keys = stored_at(keys_.data(), dtype_, first * head_dim_);
  if (values_.size() > 0) {
    head.values = stored_at(values_.data(), dtype_, first * value_stride_);
  }
  return head;
}

void PackedHeads::append(const Head& head, std::int64_t position, std::int64_t count,
                         const AnyBlockedView& k, const AnyBlockedView& v, std::int64_t first_row,
                         std::int64_t block) const {
  kernels_->pack_keys({k.at(first_row, block), k.dtype, k.row_stride}, position, count, head_dim_,
                      head.keys);
  append_values(head, position, count, v, first_row, block);
}

void PackedHeads::append_values(const Head& head, std::int64_t position, std::int64_t count,
                                const AnyBlockedView& v, std::int64_t first_row,
                                std::int64_t block) const {
  if (head.values == nullptr) return;
  for (std::int64_t t = 0; t < count; ++t) {
    kernels_->copy(v.at(first_row + t, block), v.dtype, value_dim_,
                   stored_at(head.values, dtype_, (position + t) * value_stride_));
  }
}

void PackedHeads::zero(std::int64_t first, std::int64_t count) {
  const Head begin = head(first);
  const auto bytes = [&](std::int64_t each) {
    return static_cast<std::size_t>(bytes_of(dtype_, count * each));
  };
  std::memset(begin.keys, 0, bytes(head_dim_));
  if (begin.values != nullptr) std::memset(begin.values, 0, bytes(value_stride_));
}

void PackedHeads::copy(std::int64_t first, const PackedHeads& from, std::int64_t of,
                       std::int64_t count) {
  const auto copied = [&](AlignedBuffer& to, const AlignedBuffer& other, std::int64_t each) {
    const auto* begin = reinterpret_cast<const char*>(other.data());
    std::memcpy(stored_at(to.data(), dtype_, first * each), begin + bytes_of(dtype_, of * each),
                static_cast<std::size_t>(bytes_of(dtype_, count * each)));
  };
  copied(keys_, from.keys_, head_dim_);
  if (values_.size() > 0) copied(values_, from.values_, value_stride_);
}

}  // namespace headroom::simd
