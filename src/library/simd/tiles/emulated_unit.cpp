// The emulated tile products of one level; compiled once for each, see ../CMakeLists.txt. Apart
// from what is made of them, which need not be fast.

#include "simd/tiles/emulated_unit.hpp"

#include "simd/tiles/fp16_emulator.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

void emulate(float* c, const std::uint16_t* a, std::int64_t b_row, const std::uint16_t* b) {
  if (!fast_tile_product(c, a, b_row, b)) exact_tile_product(c, a, b_row, b);
}

void emulate_fp16(float* c, const std::uint16_t* a, std::int64_t b_row, const std::uint16_t* b) {
  if (!fast_fp16_product(c, a, b_row, b)) exact_fp16_product(c, a, b_row, b);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
