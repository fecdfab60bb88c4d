#include "headroom/isa.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "built_levels.hpp"
#include "core/environment_variable.hpp"
#include "core/nearest.hpp"
#include "core/text/names.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

constexpr Name<Isa> kIsaNames[] = {
    {Isa::sse42, "sse4.2"},
    {Isa::avx2, "avx2"},
    {Isa::avx512, "avx512"},
    {Isa::neon, "neon"},
};

std::vector<std::string> names_of(const std::vector<Isa>& isas) {
  std::vector<std::string> names;
  for (const Isa isa : isas) names.emplace_back(to_string(isa));
  return names;
}

Isa require_available(Isa isa, std::string_view source) {
  const std::vector<Isa> here = available_isas();
  if (std::find(here.begin(), here.end(), isa) != here.end()) return isa;
  throw Unavailable(
      fmt::format("{} asks for instruction set {}, which this machine or this build does not have; "
                  "available: {}",
                  source, to_string(isa), fmt::join(names_of(here), ", ")));
}

bool runs(Isa isa) {
#if defined(__x86_64__)
  // The compiler's test includes the operating system's support for wide registers (xgetbv); the
  // detector of xsimd 8.1 does not.
  __builtin_cpu_init();
  switch (isa) {
    case Isa::sse42:
      return __builtin_cpu_supports("sse4.2") != 0;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    case Isa::avx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("fma") != 0;
    default:
      return false;
  }
#else
  return isa == Isa::neon;  // part of the base architecture
#endif
}

}  // namespace

std::string_view to_string(Isa isa) { return name_of(kIsaNames, isa); }

std::optional<Isa> parse_isa(std::string_view name) { return value_of(kIsaNames, name); }

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
#define HEADROOM_ADD_LEVEL(level) \
  if (runs(Isa::level)) isas.push_back(Isa::level);
  HEADROOM_EACH_LEVEL(HEADROOM_ADD_LEVEL)
#undef HEADROOM_ADD_LEVEL
  return isas;
}

Isa select_isa(std::optional<Isa> requested) {
  if (requested) return require_available(*requested, "the request");
  if (const std::string forced = environment("HEADROOM_ISA"); !forced.empty()) {
    const std::optional<Isa> isa = parse_isa(forced);
    if (!isa) {
      throw Unavailable(fmt::format("HEADROOM_ISA is '{}', which is no instruction set; {}", forced,
                                    suggest(forced, names_of(available_isas()))));
    }
    return require_available(*isa, "HEADROOM_ISA");
  }
  const std::vector<Isa> here = available_isas();
  if (here.empty()) {
    throw Unavailable(
        "this processor has none of the instruction sets of this build; x86-64 needs SSE4.2, and "
        "code for the processor it is compiled on if HEADROOM_LEVELS was native");
  }
  return here.back();
}

}  // namespace headroom
