// Products of bytes: rows of x rounded to 8 bits times weights in few bits. Sums within a group are
// integers, and exact; groups are added in order, so an element has the same bits in every tile.
#pragma once

#include "simd/kernels/bytes/byte_dots.hpp"
#include "simd/kernels/bytes/byte_rows.hpp"
#include "simd/kernels/projection/weight_groups.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// What a pointer to weights that bytes are multiplied with points to: see `GroupOrder::words`.
template <Storage kStorage>
struct ByteWeights {
  std::uint8_t byte;

  static constexpr Storage kStored = kStorage;
  /// What values are more than their weights, so that their bytes have no sign.
  static constexpr int kOffset = kStorage == Storage::q8 ? 128 : 8;
};
template <Storage kStorage>
inline constexpr bool kIsFewBits<ByteWeights<kStorage>> = true;

/// As `accumulate` of floats.
/// @param a rows as `round_rows` leaves them; @param prefetches groups
template <int MR, int NV, Storage kStored>
HEADROOM_INLINE void accumulate_few(Accumulators<MR, NV>& acc, const float* a,
                                    const ByteWeights<kStored>* b, std::int64_t panel_stride,
                                    std::int64_t depth, bool prefetches) {
  constexpr int kPer = kVectorsPerPanel<NV>;
  constexpr std::int64_t kWidth = kPer * kLanes;
  constexpr std::int64_t kScaleBytes = kWidth * 2;
  constexpr int kWords = kStored == Storage::q8 ? kGroup / 4 : kGroup / 8;  // of a column
  constexpr int kPerWord = kGroupWords / (kGroup / 4);
  const auto* x = reinterpret_cast<const std::int32_t*>(a);
  const auto* weights = reinterpret_cast<const std::uint8_t*>(b);
  const std::int64_t stride = storage_bytes(kStored, panel_stride);
  for (std::int64_t k = 0; k < depth; k += kGroup) {
    Ints sums[MR][NV];
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) sums[r][v] = Ints{} + x[(kGroupWords + 1) * MR + r];
    }
#pragma GCC unroll 8
    for (int w = 0; w < kWords; ++w) {
      if (prefetches && w % (kWords / kQuarters) == 0) {
        prefetch_quarter<kStored, NV>(weights, stride, w / (kWords / kQuarters));
      }
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        Bits bytes;
        __builtin_memcpy(
            &bytes,
            weights + (v / kPer) * stride + kScaleBytes + (w * kWidth + (v % kPer) * kLanes) * 4,
            sizeof(bytes));
        const auto add = [&](const Bits& four, int word) __attribute__((always_inline)) {
#pragma GCC unroll 16
          for (int r = 0; r < MR; ++r) {
            sums[r][v] = add_dots(sums[r][v], four, x + word * kPerWord * MR + r, MR);
          }
        };
        if constexpr (kStored == Storage::q8) {
          add(alike(bytes), w);
        } else {
          add(bytes & 0x0f0f0f0fU, w);
          add((bytes >> 4) & 0x0f0f0f0fU, w + kWords);
        }
      }
    }
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      const Vec scale = load_fp16(reinterpret_cast<const Half*>(weights + (v / kPer) * stride) +
                                  (v % kPer) * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) {
        const Vec of_row(__builtin_bit_cast(float, x[kGroupWords * MR + r]));
        acc.v[r][v] = multiply_add(floats_of(sums[r][v]), scale * of_row, acc.v[r][v]);
      }
    }
    x += kGroupNumbers * MR;
    weights += storage_bytes(kStored, kGroup * kWidth);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
