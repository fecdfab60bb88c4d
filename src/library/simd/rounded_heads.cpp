#include "simd/rounded_heads.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/rounding.hpp"
#include "simd/scratch.hpp"
#include "simd/stored.hpp"

namespace headroom::simd {
namespace {

constexpr std::int64_t kInWord = 4;
constexpr std::int64_t kKeyOffset = 128;

}  // namespace

RoundedHeads::RoundedHeads(const KernelTable& kernels, CacheOrder order, std::int64_t head_dim,
                           std::int64_t value_dim, std::int64_t keys)
    : kernels_(&kernels),
      order_(order),
      panel_(2 * kernels.lanes),
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
  std::array<float, kCacheBlock> channel;
  std::array<std::int8_t, kCacheBlock> bytes;
  std::int8_t* to = head.keys + position * key_width_;
  Half* scales = head.key_scales + position / kCacheBlock * padded_channels(head_dim_);
  for (std::int64_t c = 0; c < head_dim_; ++c) {
    for (std::int64_t key = 0; key < kCacheBlock; key += panel_) {
      std::copy_n(panels + key * head_dim_ + c * panel_, panel_, channel.begin() + key);
    }
    scales[c] = round_to_bytes(channel.data(), kCacheBlock, bytes.data(), kernels_->rounding).bits;
    put_keys(c, bytes.data(), to);
  }
}

// One channel of a block of keys.
void RoundedHeads::put_keys(std::int64_t channel, const std::int8_t* bytes,
                            std::int8_t* block) const {
  for (std::int64_t key = 0; key < kCacheBlock; key += panel_) {
    std::int8_t* panel = block + key * key_width_;
    if (order_ == CacheOrder::floats) {
      std::copy_n(bytes + key, panel_, panel + channel * panel_);
      continue;
    }
    std::int8_t* to = panel + channel / kInWord * kInWord * panel_ + channel % kInWord;
    for (std::int64_t i = 0; i < panel_; ++i) {
      to[i * kInWord] = static_cast<std::int8_t>(bytes[key + i] + kKeyOffset);
    }
  }
}

void RoundedHeads::round_values(const Head& head, std::int64_t position, std::int64_t count,
                                const AnyBlockedView& v, std::int64_t first_row, std::int64_t block,
                                float* row) const {
  for (std::int64_t t = 0; t < count; ++t) {
    const void* from = v.at(first_row + t, block);
    const float* values = static_cast<const float*>(from);
    if (v.dtype != Dtype::f32) {
      kernels_->f32.copy(from, v.dtype, value_dim_, row);
      values = row;
    }
    const std::int64_t at = position + t;
    if (order_ == CacheOrder::floats) {
      head.value_scales[at] =
          round_to_bytes(values, value_dim_, head.values + at * value_stride_, kernels_->rounding)
              .bits;
      continue;
    }
    auto* bytes = reinterpret_cast<std::int8_t*>(row + value_dim_);
    head.value_scales[at] = round_to_bytes(values, value_dim_, bytes, kernels_->rounding).bits;
    std::int8_t* to = head.values + at / kInWord * kInWord * value_stride_ + at % kInWord;
    for (std::int64_t c = 0; c < value_dim_; ++c) to[c * kInWord] = bytes[c];
  }
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
