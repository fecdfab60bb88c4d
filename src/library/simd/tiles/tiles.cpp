// The kernels of one unit; compiled once for each, see ../CMakeLists.txt.

#include "simd/tiles/attend_tiles.hpp"
#include "simd/tiles/project_tiles.hpp"
#if defined(HEADROOM_UNIT_AMX)
#include "simd/tiles/amx_unit.hpp"
#elif defined(HEADROOM_UNIT_AVX512_BF16)
#include "simd/tiles/dot_unit.hpp"
#else
#include "simd/tiles/emulated_unit.hpp"
#endif

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {
namespace {

#if defined(HEADROOM_UNIT_AMX)
using Unit = AmxUnit;
#elif defined(HEADROOM_UNIT_AVX512_BF16)
using Unit = DotUnit;
#else
using Unit = EmulatedUnit;
#endif

/// Bits that look random, of numbers between 1/2 and 2 of both signs: zeros would let a core run
/// faster than data does.
void fill_tiles(std::uint16_t* values, std::int64_t count) {
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    values[i] = static_cast<std::uint16_t>((state >> 16 & 0x80ffU) | 0x3f00U);
  }
}

template <class S>
double burst(std::int64_t iterations, float* sink) {
  constexpr std::int64_t kSteps = 2;  // with three parts 24 KiB, half of an L1 with tiles
  alignas(64) std::uint16_t left[S::kLeft * kSteps * kLeftStep];
  alignas(64) std::uint16_t right[S::kRight * kSteps * kRightStep];
  alignas(64) float sums[4 * kSums];
  fill_tiles(left, S::kLeft * kSteps * kLeftStep);
  fill_tiles(right, S::kRight * kSteps * kRightStep);
  Operands of;
  of.a = left;
  of.b = right;
  of.steps = kSteps;
  for (int i = 0; i < 4; ++i) of.sums[i / 2][i % 2] = sums + i * kSums;
  [[maybe_unused]] const Unit::Session session;
  const Nothing nothing;
  for (std::int64_t n = 0; n < iterations; ++n) Unit::multiply<S>(of, nothing);
  *sink = sums[0];
  return 2.0 * kTileBlock * kTileBlock * kSteps * kTileDepth * static_cast<double>(iterations);
}

template <Precision P>
constexpr TilePrecision precision() {
  return {cut_weights<P>,
          project_tiles<P, Unit>,
          attend_tiles<P, Unit>,
          burst<SchemeOf<P, float>>,
          burst<SchemeOf<P, Half>>,
          Unit::template border<P>(),
          Unit::template border_of_two<P>(),
          Unit::template border_of_groups<P>(),
          Unit::template longest_stage<P>()};
}

#if !defined(HEADROOM_UNIT_AVX512_BF16)
constexpr TilePrecision fp16_precision() {
  constexpr Precision kFp16 = Precision::fp16x3;
  return {cut_fp16_weights<kFp16>,
          project_tiles<kFp16, Unit>,
          attend_tiles<attend_precision(kFp16), Unit>,
          burst<SchemeOf<kFp16, float>>,
          burst<SchemeOf<kFp16, Half>>,
          Unit::template border<kFp16>(),
          Unit::template border_of_two<kFp16>(),
          Unit::template border_of_groups<kFp16>(),
          Unit::template longest_stage<kFp16>()};
}
#endif

}  // namespace

extern const TileKernels kTiles;
#if defined(HEADROOM_UNIT_AVX512_BF16)
const TileKernels kTiles{Unit::kName, {}, {}, {}, {}, precision<Precision::bf16>()};
#else
const TileKernels kTiles{
    Unit::kName,      precision<Precision::bf16x9>(), precision<Precision::bf16x6>(),
    fp16_precision(), precision<Precision::bf16x3>(), precision<Precision::bf16>()};
#endif

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
