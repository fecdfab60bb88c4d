#include "simd/kernel_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "built_levels.hpp"
#include "headroom/error.hpp"

namespace headroom::simd {

#define HEADROOM_DECLARE_LEVEL(level) \
  namespace level {                   \
  extern const KernelTable kTable;    \
  }
HEADROOM_EACH_LEVEL(HEADROOM_DECLARE_LEVEL)
#undef HEADROOM_DECLARE_LEVEL

void fail_level(Isa isa) {
  std::vector<std::string_view> built;
#define HEADROOM_NAME_LEVEL(level) built.push_back(to_string(Isa::level));
  HEADROOM_EACH_LEVEL(HEADROOM_NAME_LEVEL)
#undef HEADROOM_NAME_LEVEL
  throw Unavailable(
      fmt::format("the kernels of xsimd and tbb are not compiled for instruction set {} in this "
                  "build, but for {}; choose one of these, or compile with -DHEADROOM_LEVELS=all",
                  to_string(isa), fmt::join(built, ", ")));
}

const KernelTable& kernel_table(Isa isa) {
  switch (isa) {
#define HEADROOM_RETURN_LEVEL(level) \
  case Isa::level:                   \
    return level::kTable;
    HEADROOM_EACH_LEVEL(HEADROOM_RETURN_LEVEL)
#undef HEADROOM_RETURN_LEVEL
    default:
      fail_level(isa);
  }
}

}  // namespace headroom::simd
