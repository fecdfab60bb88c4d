// The tile unit of the processor (AMX).
//
// Written as assembly, because the compilers' intrinsics promise nothing about memory: gcc 12 may
// move stores to packed tiles past the instructions that read them.
#pragma once

#include "simd/tiles/operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 0;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

/// Sums in tiles 0 to 3, a in 4 and 5, b in 6 and 7: all of 16 rows of 64 bytes.
inline constexpr TileConfiguration kOurTiles{
    1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

template <int T>
HEADROOM_INLINE void zero_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(T));
}
template <int T>
HEADROOM_INLINE void load_tile(const void* from, std::int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(T) : "memory");
}
template <int T>
HEADROOM_INLINE void store_tile(float* to, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(T) : "memory");
}
/// Tile C += tile A times tile B. The instruction for fp16 stands in bytes, because older
/// assemblers do not know its name: VEX.128.F2.0F38.W0 5C /r.
template <int C, int A, int B, bool kFp16>
HEADROOM_INLINE void multiply_tiles() {
  if constexpr (kFp16) {
    asm volatile(".byte 0xc4, 0xe2, %c0, 0x5c, %c1" ::"i"((15 - B) * 8 + 3), "i"(0xc0 + 8 * C + A));
  } else {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
}

struct AmxUnit : TileSettings {
  static constexpr const char* kName = "amx";

  /// The configuration belongs to the thread, and other libraries use it as well. Tiles in use cost
  /// power, and time at every switch of threads.
  class Session {
   public:
    Session() {
      asm volatile("sttilecfg %0" : "=m"(found_)::"memory");
      asm volatile("ldtilecfg %0" ::"m"(kOurTiles) : "memory");
    }
    ~Session() {
      if (found_.palette == 0) {
        asm volatile("tilerelease" ::: "memory");
      } else {
        asm volatile("ldtilecfg %0" ::"m"(found_) : "memory");
      }
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

   private:
    TileConfiguration found_;
  };

  /// A share of the lines of the next step, which come from the L2.
  template <int kHalves, int kShares, int I>
  HEADROOM_INLINE static void prefetch_share(const std::uint16_t* next) {
    constexpr int kLine = 32;
    constexpr int kLines = kHalves / kLine;
#pragma GCC unroll 64
    for (int l = kLines * I / kShares; l < kLines * (I + 1) / kShares; ++l) {
      __builtin_prefetch(next + l * kLine, 0, 3);
    }
  }

  /// The products of a step from the I-th on. Neighbours in the order share a part, which stays in
  /// its tiles.
  template <class S, bool kLower, int I, class Beside>
  HEADROOM_INLINE static void step(const std::uint16_t* a, const std::uint16_t* b,
                                   const std::uint16_t* next_a, const std::uint16_t* next_b,
                                   Beside& beside) {
    if constexpr (I < S::kProducts) {
      constexpr PartPair kPair = S::kOrder[I];
      constexpr PartPair kBefore = I == 0 ? PartPair{-1, -1} : S::kOrder[I == 0 ? 0 : I - 1];
      constexpr bool kNewA = kPair.a != kBefore.a;
      constexpr bool kNewB = kPair.b != kBefore.b;
      const std::uint16_t* left = a + kPair.a * kLeftStep;
      const std::uint16_t* right = b + kPair.b * kRightStep;
      if constexpr (kNewA) load_tile<4>(left, 2 * kTileDepth);
      if constexpr (kNewB) load_tile<6>(right, 2 * kRightRow);
      multiply_tiles<0, 4, 6, kOfFp16<S::kPrecision>>();
      if constexpr (kNewB) load_tile<7>(right + kTileDepth, 2 * kRightRow);
      multiply_tiles<1, 4, 7, kOfFp16<S::kPrecision>>();
      if constexpr (kLower) {
        if constexpr (kNewA) load_tile<5>(left + kLeftTile, 2 * kTileDepth);
        multiply_tiles<2, 5, 6, kOfFp16<S::kPrecision>>();
        multiply_tiles<3, 5, 7, kOfFp16<S::kPrecision>>();
      }
      if constexpr (Beside::kAhead) {
        prefetch_share<S::kLeft* static_cast<int>(kLeftStep), S::kProducts, I>(next_a);
        prefetch_share<S::kRight* static_cast<int>(kRightStep), S::kProducts, I>(next_b);
      }
      beside.next();
      step<S, kLower, I + 1>(a, b, next_a, next_b, beside);
    }
  }

  template <class S, bool kLower, class Beside>
  HEADROOM_INLINE static void multiply_tiles_of(const Operands& of, Beside& beside) {
    constexpr std::int64_t kStride = kTileSide * std::int64_t{sizeof(float)};
    if (of.add) {
      load_tile<0>(of.sums[0][0], kStride);
      load_tile<1>(of.sums[0][1], kStride);
      if constexpr (kLower) load_tile<2>(of.sums[1][0], kStride);
      if constexpr (kLower) load_tile<3>(of.sums[1][1], kStride);
    } else {
      zero_tile<0>();
      zero_tile<1>();
      if constexpr (kLower) zero_tile<2>();
      if constexpr (kLower) zero_tile<3>();
    }
    const std::uint16_t* a = of.a;
    const std::uint16_t* b = of.b;
    for (std::int64_t s = 0; s < of.steps; ++s) {
      const bool last = s + 1 == of.steps;
      const std::uint16_t* next_a = last ? of.next_a : a + S::kLeft * kLeftStep;
      const std::uint16_t* next_b = last ? of.next_b : b + S::kRight * kRightStep;
      step<S, kLower, 0>(a, b, next_a, next_b, beside);
      a = next_a;
      b = next_b;
    }
    store_tile<0>(of.sums[0][0], kStride);
    store_tile<1>(of.sums[0][1], kStride);
    if constexpr (kLower) store_tile<2>(of.sums[1][0], kStride);
    if constexpr (kLower) store_tile<3>(of.sums[1][1], kStride);
  }

  template <class S, class Beside>
  HEADROOM_INLINE static void multiply(const Operands& of, Beside& beside) {
    if (of.rows > kTileSide) {
      multiply_tiles_of<S, true>(of, beside);
    } else {
      multiply_tiles_of<S, false>(of, beside);
    }
  }
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
