#include "core/element/fp16_tiles.hpp"

#include <string>

#include "core/environment_variable.hpp"
#include "headroom/error.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headroom {
namespace {

bool announced() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kFp16 = 1U << 21;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kFp16) != 0;
#else
  return false;
#endif
}

}  // namespace

Fp16Tiles fp16_tiles() {
  const std::string forced = environment("HEADROOM_AMX_FP16");
  if (forced == "1") return Fp16Tiles::forced;
  if (forced == "0") return Fp16Tiles::none;
  if (!forced.empty()) {
    throw Unavailable("HEADROOM_AMX_FP16 is '" + forced +
                      "'; 1 takes the tiles' products of fp16 for present, 0 for absent");
  }
  static const bool found = announced();
  return found ? Fp16Tiles::announced : Fp16Tiles::none;
}

}  // namespace headroom
