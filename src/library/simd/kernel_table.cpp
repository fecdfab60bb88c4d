#include "simd/kernel_table.hpp"

#include <stdexcept>

namespace headroom::simd {

#if defined(__x86_64__)
namespace sse42 {
extern const KernelTable kTable;
}
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
#elif defined(__aarch64__)
namespace neon {
extern const KernelTable kTable;
}
#endif

const KernelTable& kernel_table(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::sse42:
      return sse42::kTable;
    case Isa::avx2:
      return avx2::kTable;
    case Isa::avx512:
      return avx512::kTable;
#elif defined(__aarch64__)
    case Isa::neon:
      return neon::kTable;
#endif
    default:
      throw std::logic_error("kernel_table: no kernels of this instruction set in this build");
  }
}

}  // namespace headroom::simd
