// A unit whose tile products are software.
#pragma once

#include "simd/tiles/operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// c += a b with the bits of TDPBF16PS, or of TDPFP16PS: emulated_unit.cpp. @param b_row from one
/// pair of rows of b to the next
void emulate(float* c, const std::uint16_t* a, std::int64_t b_row, const std::uint16_t* b);
void emulate_fp16(float* c, const std::uint16_t* a, std::int64_t b_row, const std::uint16_t* b);

/// The unit of levels without tiles: for tests.
struct EmulatedUnit : TileSettings {
  static constexpr const char* kName = "emulated";
  struct Session {};

  template <class S, class Beside>
  static void multiply(const Operands& of, Beside&) {
    for (int i = 0; i < (of.rows > kTileSide ? 2 : 1); ++i) {
      for (int j = 0; j < 2; ++j) {
        float* sums = of.sums[i][j];
        for (std::int64_t n = 0; !of.add && n < kSums; ++n) sums[n] = 0;
        for (std::int64_t s = 0; s < of.steps; ++s) {
          const std::uint16_t* a = of.a + s * S::kLeft * kLeftStep + i * kLeftTile;
          const std::uint16_t* b = of.b + s * S::kRight * kRightStep + j * kTileDepth;
          for (const PartPair pair : S::kOrder) {
            const std::uint16_t* left = a + pair.a * kLeftStep;
            const std::uint16_t* right = b + pair.b * kRightStep;
            if constexpr (kOfFp16<S::kPrecision>) {
              emulate_fp16(sums, left, kRightRow, right);
            } else {
              emulate(sums, left, kRightRow, right);
            }
          }
        }
      }
    }
  }
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
