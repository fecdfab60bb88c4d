// The kernels of one instruction-set level; compiled once per level, see cmake/HeadroomIsa.cmake.

#include "simd/kernels/attend_kernel.hpp"
#include "simd/kernels/bytes/round_cache.hpp"
#include "simd/kernels/pack_keys.hpp"
#include "simd/kernels/projection/project_kernel.hpp"

#if defined(HEADROOM_ISA_AVX512)
#define HEADROOM_DOTS_NAMESPACE avx512_vnni
#elif defined(HEADROOM_ISA_NEON)
#define HEADROOM_DOTS_NAMESPACE neon_dotprod
#endif

#if defined(HEADROOM_DOTS_NAMESPACE)
namespace headroom::simd::HEADROOM_DOTS_NAMESPACE {
extern const FewBitsKernels kByteKernels;
extern const RoundedKernels kCacheByteKernels;
}  // namespace headroom::simd::HEADROOM_DOTS_NAMESPACE
#endif

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {
namespace {

#if defined(HEADROOM_DOTS_NAMESPACE)
constexpr const FewBitsKernels* kBytesByDots = &HEADROOM_DOTS_NAMESPACE::kByteKernels;
constexpr const RoundedKernels* kCacheBytesByDots = &HEADROOM_DOTS_NAMESPACE::kCacheByteKernels;
#else
constexpr const FewBitsKernels* kBytesByDots = nullptr;
constexpr const RoundedKernels* kCacheBytesByDots = nullptr;
#endif

void exp2_array(const float* x, float* y, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, exp2(load(x + i)));
  for (; i < count; ++i) y[i] = exp2_scalar(x[i]);
}

void softmax_tile(float* scores, float* sums) {
  float max[kTileRows];
  float partial_sums[kTileRows * kLanes];
  float block_max[kTileRows];
  for (int r = 0; r < kTileRows; ++r) {
    max[r] = kMinusInfinity;
    store(partial_sums + r * kLanes, Vec(0.0F));
    Vec row_max(kMinusInfinity);
    for (std::int64_t k = 0; k < kKeyBlock; k += kLanes) {
      row_max = max_or_second(row_max, load(scores + score_at<kTileRows>(k, r)));
    }
    block_max[r] = max_lanes(row_max);
  }
  AttendTask task;
  const Tile tile{0, kTileRows, nullptr, {nullptr, partial_sums, max}};
  raise_maximum(task.scale, kTileRows, tile.state, block_max, 0);
  weigh_block<kTileRows>(task, tile, {0, 0, 0, kKeyBlock, 0, kKeyBlock}, scores);
  for (int r = 0; r < kTileRows; ++r) sums[r] = sum_lanes(load(partial_sums + r * kLanes));
}

void normalise_rows(const NormRows& rows) { normalise_rows_of(rows); }

/// As many independent chains as the register tile has, to hide the latency.
double fma_chain(std::int64_t iterations, float* sink) {
  constexpr int kChains = 2 * kTileRows;
  Vec acc[kChains];
  for (int i = 0; i < kChains; ++i) acc[i] = Vec(static_cast<float>(i));
  const Vec a(0.999F);
  const Vec b(1e-3F);
  for (std::int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i) acc[i] = multiply_add(acc[i], a, b);
  }
  Vec total(0.0F);
  for (int i = 0; i < kChains; ++i) total += acc[i];
  *sink = sum_lanes(total);
  return 2.0 * kChains * kLanes * static_cast<double>(iterations);
}

/// Fills both operands with small values that differ, so that nothing overflows or becomes denormal
/// and no core can save power on zeros.
void fill_operand(float* values, std::int64_t count) {
  constexpr int kDifferent = 61;
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = 1e-3F * static_cast<float>(1 + i % kDifferent);
  }
}

double tile_chain(std::int64_t iterations, float* sink) {
  // Rows and a panel of this depth fill half of a small L1 (32 KiB).
  constexpr std::int64_t kDepth = 5 * kChunk;
  constexpr std::int64_t kStepFlops = 2 * kTileRows * kPanel;
  alignas(64) float rows[kTileRows * kDepth];
  alignas(64) float panel[kPanel * kDepth];
  fill_operand(rows, kTileRows * kDepth);
  fill_operand(panel, kPanel * kDepth);
  Accumulators<kTileRows, 2> acc;
#pragma GCC unroll 16
  for (int r = 0; r < kTileRows; ++r) acc.v[r][0] = acc.v[r][1] = Vec(0.0F);
  for (std::int64_t n = 0; n < iterations; ++n) {
    accumulate<kTileRows, 2, Prefetch::none>(acc, rows, panel, kPanel * kDepth, kDepth);
  }
  Vec total(0.0F);
#pragma GCC unroll 16
  for (int r = 0; r < kTileRows; ++r) total += acc.v[r][0] + acc.v[r][1];
  *sink = sum_lanes(total);
  return static_cast<double>(kStepFlops * kDepth) * static_cast<double>(iterations);
}

/// Several streams, because the misses of one wait for each other: a product of one row reads as
/// many panels at once.
float read_sum(const float* x, std::int64_t count) {
  constexpr int kStreams = 4;
  constexpr int kPer = 2;
  const std::int64_t part = count / (kStreams * kPer * kLanes) * kPer * kLanes;
  Vec acc[kStreams * kPer];
  for (int i = 0; i < kStreams * kPer; ++i) acc[i] = Vec(0.0F);
  for (std::int64_t n = 0; n < part; n += kPer * kLanes) {
#pragma GCC unroll 8
    for (int i = 0; i < kStreams * kPer; ++i) {
      acc[i] += load(x + (i / kPer) * part + n + (i % kPer) * kLanes);
    }
  }
  Vec total(0.0F);
  for (std::int64_t n = kStreams * part; n + kLanes <= count; n += kLanes) total += load(x + n);
  for (int i = 0; i < kStreams * kPer; ++i) total += acc[i];
  return sum_lanes(total);
}

constexpr Isa kIsa =
#if defined(HEADROOM_ISA_AVX512)
    Isa::avx512;
#elif defined(HEADROOM_ISA_AVX2)
    Isa::avx2;
#elif defined(HEADROOM_ISA_SSE42)
    Isa::sse42;
#else
    Isa::neon;
#endif

}  // namespace

extern const StoredKernels kHalfKernels;
extern const FewBitsKernels kFewRowsKernels;
#if defined(HEADROOM_VNNI_ALONE)
// Built for this processor, which always takes these.
using avx512_vnni::kByteKernels;
using avx512_vnni::kCacheByteKernels;
#else
extern const FewBitsKernels kByteKernels;
extern const RoundedKernels kCacheByteKernels;
#endif
#if defined(HEADROOM_FULL_TILES)
// The one test of full tiles under a sanitizer, whose compiler takes minutes for each file.
constexpr const RoundedKernels* kRounded = nullptr;
constexpr const RoundedKernels* kCacheBytes = nullptr;
#else
extern const RoundedKernels kRoundedKernels;
constexpr const RoundedKernels* kRounded = &kRoundedKernels;
constexpr const RoundedKernels* kCacheBytes = &kCacheByteKernels;
#endif
extern const KernelTable kTable;
const KernelTable kTable{kIsa,
                         kLanes,
                         kTileRows,
                         {project<float>, attend<float>, pack_keys<float>, copy_values<float>},
                         &kHalfKernels,
                         &kFewRowsKernels,
                         {project<Q8>, project<Q4>},
                         &kByteKernels,
                         kBytesByDots,
                         kRounded,
                         merge_segments,
                         exp2_array,
                         softmax_tile,
                         fma_chain,
                         tile_chain,
                         normalise_rows,
                         round_cache_keys,
                         round_cache_values,
                         read_sum,
                         kCacheBytes,
                         kCacheBytesByDots};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
