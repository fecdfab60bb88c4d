#include "simd/tiles/tile_kernels.hpp"

#include <stdexcept>

#include "core/element/layer_numbers.hpp"
#include "core/environment_variable.hpp"

namespace headroom::simd {

#if defined(__x86_64__)
#define HEADROOM_EMULATING_LEVELS(each) each(sse42) each(avx2) each(avx512)
namespace amx {
extern const TileKernels kTiles;
}
namespace avx512bf16 {
extern const TileKernels kTiles;
}
#elif defined(__aarch64__)
#define HEADROOM_EMULATING_LEVELS(each) each(neon)
#endif

#define HEADROOM_DECLARE_LEVEL(level)                                     \
  namespace level {                                                       \
  extern const TileKernels kTiles;                                        \
  void emulate(float* c, const std::uint16_t* a, const std::uint16_t* b); \
  }
HEADROOM_EMULATING_LEVELS(HEADROOM_DECLARE_LEVEL)
#undef HEADROOM_DECLARE_LEVEL

namespace {

struct Emulation {
  const TileKernels* tiles;
  void (*product)(float* c, const std::uint16_t* a, const std::uint16_t* b);
};

bool has_avx512_bf16() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

// By the widest vectors, because it is slow.
Emulation emulation() {
  switch (without_tiles(Isa::amx)) {
#if defined(__x86_64__)
    case Isa::sse42:
      return {&sse42::kTiles, sse42::emulate};
    case Isa::avx2:
      return {&avx2::kTiles, avx2::emulate};
    case Isa::avx512:
      return {&avx512::kTiles, avx512::emulate};
#elif defined(__aarch64__)
    case Isa::neon:
      return {&neon::kTiles, neon::emulate};
#endif
    default:
      throw std::logic_error("tile_kernels: no kernels of this instruction set in this build");
  }
}

bool is_emulated() { return environment("HEADROOM_TILES") == "emulated"; }

const TileKernels* tiles_of(Isa isa) {
  if (isa == Isa::amx && is_emulated()) return emulation().tiles;
#if defined(__x86_64__)
  if (isa == Isa::amx) return &amx::kTiles;
  if (isa == Isa::avx512 && has_avx512_bf16()) return &avx512bf16::kTiles;
#endif
  return nullptr;
}

}  // namespace

const TilePrecision* tile_precision(Isa isa, Precision precision) {
  const TileKernels* tiles = tiles_of(isa);
  if (tiles == nullptr) return nullptr;
  const TilePrecision* found = nullptr;
  switch (precision) {
    case Precision::f32:
      return nullptr;
    case Precision::bf16x9:
      found = &tiles->bf16x9;
      break;
    case Precision::bf16x6:
      found = &tiles->bf16x6;
      break;
    case Precision::bf16x3:
      found = &tiles->bf16x3;
      break;
    case Precision::bf16:
      found = &tiles->bf16;
      break;
  }
  return found->project != nullptr ? found : nullptr;
}

const TileKernels* tile_unit(Isa isa, Precision precision) {
  return tile_precision(isa, precision) == nullptr ? nullptr : tiles_of(isa);
}

std::vector<std::pair<Precision, double (*)(std::int64_t, float*)>> product_bursts(Isa isa) {
  std::vector<std::pair<Precision, double (*)(std::int64_t, float*)>> bursts;
  if (isa == Isa::amx && is_emulated()) return bursts;
  for (const Precision precision : kAllPrecisions) {
    const TilePrecision* tiles = tile_precision(isa, precision);
    if (tiles != nullptr) bursts.emplace_back(precision, tiles->burst);
  }
  return bursts;
}

void emulate_tile_product(float* c, const std::uint16_t* a, const std::uint16_t* b) {
  emulation().product(c, a, b);
}

}  // namespace headroom::simd
