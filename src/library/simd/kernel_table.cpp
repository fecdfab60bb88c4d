#include "simd/kernel_table.hpp"

#include <stdexcept>

#include "built_levels.hpp"

namespace headroom::simd {

#define HEADROOM_DECLARE_LEVEL(level) \
  namespace level {                   \
  extern const KernelTable kTable;    \
  }
HEADROOM_EACH_LEVEL(HEADROOM_DECLARE_LEVEL)
#undef HEADROOM_DECLARE_LEVEL

const KernelTable& kernel_table(Isa isa) {
  switch (isa) {
#define HEADROOM_RETURN_LEVEL(level) \
  case Isa::level:                   \
    return level::kTable;
    HEADROOM_EACH_LEVEL(HEADROOM_RETURN_LEVEL)
#undef HEADROOM_RETURN_LEVEL
    default:
      throw std::logic_error("kernel_table: no kernels of this instruction set in this build");
  }
}

}  // namespace headroom::simd
