#include "simd/rounded_heads.hpp"

#include <algorithm>
#include <cstring>

#include "core/rounding.hpp"
#include "simd/scratch.hpp"
#include "simd/stored.hpp"

namespace headroom::simd {
RoundedHeads::RoundedHeads(const KernelTable& kernels, CacheOrder order, std::int64_t head_dim,
                           std::int64_t value_dim, std::int64_t keys)
    : kernels_(&kernels),
      order_(order),
      key_width_(order == CacheOrder::words ? whole_groups(head_dim) : head_dim),
      head_dim_(head_dim),
      value_dim_(value_dim),
      value_stride_(round_up(value_dim, kernels.lanes)),
      keys_(keys),
      bytes_(buffer_of_bytes(keys * (key_width_ + value_stride_))),
      scales_(buffer_of_bytes((keys / kCacheBlock * padded_channels(head_dim) + keys) *
                              std::int64_t{sizeof(Half)})) {}

RoundedHeads::At RoundedHeads::at(std::int64_t first) const {
  const std::int64_t channels = padded_channels(head_dim_);
  return {first * key_width_, keys_ * key_width_ + first * value_stride_,
          first / kCacheBlock * channels, keys_ / kCacheBlock * channels + first};
}

RoundedHeads::Head RoundedHeads::head(std::int64_t first) {
  auto* bytes = reinterpret_cast<std::int8_t*>(bytes_.data());
  auto* scales = reinterpret_cast<Half*>(scales_.data());
  const At place = at(first);
  return {bytes + place.keys, bytes + place.values, scales + place.key_scales,
          scales + place.value_scales};
}

void RoundedHeads::round_keys(const Head& head, std::int64_t position, const float* panels) const {
  kernels_->round_keys({panels, head_dim_, order_, head.keys + position * key_width_, key_width_,
                        head.key_scales + position / kCacheBlock * padded_channels(head_dim_)});
}

void RoundedHeads::round_values(const Head& head, std::int64_t position, std::int64_t count,
                                const RowsOf& rows) const {
  kernels_->round_values(
      {rows, count, value_dim_, position, order_, head.values, value_stride_, head.value_scales});
}

void RoundedHeads::zero(std::int64_t first, std::int64_t count) {
  const Head begin = head(first);
  const auto halves = [](std::int64_t number) {
    return static_cast<std::size_t>(number) * sizeof(Half);
  };
  std::memset(begin.keys, 0, static_cast<std::size_t>(count * key_width_));
  std::memset(begin.values, 0, static_cast<std::size_t>(count * value_stride_));
  std::memset(begin.key_scales, 0, halves(count / kCacheBlock * padded_channels(head_dim_)));
  std::memset(begin.value_scales, 0, halves(count));
}

void RoundedHeads::copy(std::int64_t first, const RoundedHeads& from, std::int64_t of,
                        std::int64_t count) {
  const Head to = head(first);
  const At other = from.at(of);
  const auto* bytes = reinterpret_cast<const std::int8_t*>(from.bytes_.data());
  const auto* scales = reinterpret_cast<const Half*>(from.scales_.data());
  std::copy_n(bytes + other.keys, count * key_width_, to.keys);
  std::copy_n(bytes + other.values, count * value_stride_, to.values);
  std::copy_n(scales + other.key_scales, count / kCacheBlock * padded_channels(head_dim_),
              to.key_scales);
  std::copy_n(scales + other.value_scales, count, to.value_scales);
}

}  // namespace headroom::simd
