#include "simd/tiles/tile_kernels.hpp"

#include <stdexcept>

#include "built_levels.hpp"
#include "core/element/fp16_tiles.hpp"
#include "core/element/layer_numbers.hpp"

namespace headroom::simd {

#define HEADROOM_DECLARE_UNIT(unit) \
  namespace unit {                  \
  extern const TileKernels kTiles;  \
  }
HEADROOM_EACH_UNIT(HEADROOM_DECLARE_UNIT)
#undef HEADROOM_DECLARE_UNIT

using EmulatedProduct = void(float* c, const std::uint16_t* a, std::int64_t b_row,
                             const std::uint16_t* b);

#define HEADROOM_DECLARE_LEVEL(level) \
  namespace level {                   \
  extern const TileKernels kTiles;    \
  EmulatedProduct emulate;            \
  EmulatedProduct emulate_fp16;       \
  }
HEADROOM_EACH_LEVEL(HEADROOM_DECLARE_LEVEL)
#undef HEADROOM_DECLARE_LEVEL

namespace {

struct Emulation {
  const TileKernels* tiles;
  EmulatedProduct* product;
  EmulatedProduct* fp16_product;
};

Emulation emulation(Isa isa) {
  switch (isa) {
#define HEADROOM_RETURN_LEVEL(level) \
  case Isa::level:                   \
    return {&level::kTiles, level::emulate, level::emulate_fp16};
    HEADROOM_EACH_LEVEL(HEADROOM_RETURN_LEVEL)
#undef HEADROOM_RETURN_LEVEL
    default:
      fail_level(isa);
  }
}

const TileKernels* tiles_of(const Target& target) {
  switch (target.unit) {
    case Unit::none:
      return nullptr;
    case Unit::emulated:
      return emulation(target.isa).tiles;
#define HEADROOM_RETURN_UNIT(unit) \
  case Unit::unit:                 \
    return &unit::kTiles;
      HEADROOM_EACH_UNIT(HEADROOM_RETURN_UNIT)
#undef HEADROOM_RETURN_UNIT
    default:
      throw std::logic_error("tile_kernels: no kernels of this unit in this build");
  }
}

}  // namespace

const TilePrecision* tile_precision(const Target& target, Precision precision) {
  const TileKernels* tiles = tiles_of(target);
  if (tiles == nullptr) return nullptr;
  const TilePrecision* found = nullptr;
  switch (precision) {
    case Precision::f32:
    case Precision::int8:
      return nullptr;
    case Precision::bf16x9:
      found = &tiles->bf16x9;
      break;
    case Precision::bf16x6:
      found = &tiles->bf16x6;
      break;
    case Precision::fp16x3:
      if (target.unit == Unit::amx && fp16_tiles() == Fp16Tiles::none) return nullptr;
      found = &tiles->fp16x3;
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

const TileKernels* tile_unit(const Target& target, Precision precision) {
  return tile_precision(target, precision) == nullptr ? nullptr : tiles_of(target);
}

std::vector<std::pair<Numbers, double (*)(std::int64_t, float*)>> product_bursts(
    const Target& target) {
  std::vector<std::pair<Numbers, double (*)(std::int64_t, float*)>> bursts;
  if (target.unit == Unit::emulated) return bursts;
  for (const Precision precision : kAllPrecisions) {
    const TilePrecision* tiles = tile_precision(target, precision);
    if (tiles == nullptr) continue;
    bursts.emplace_back(Numbers{precision, Dtype::f32}, tiles->burst);
    if (tiles->stored_burst != tiles->burst) {
      bursts.emplace_back(Numbers{precision, Dtype::bf16}, tiles->stored_burst);
    }
  }
  return bursts;
}

void emulate_tile_product(float* c, const std::uint16_t* a, const std::uint16_t* b) {
  // By the widest vectors, because it is slow.
  emulation(available_isas().back()).product(c, a, kTileDepth, b);
}

void emulate_fp16_tile_product(float* c, const std::uint16_t* a, const std::uint16_t* b) {
  emulation(available_isas().back()).fp16_product(c, a, kTileDepth, b);
}

}  // namespace headroom::simd
