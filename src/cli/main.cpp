#include "cli/commands.hpp"
#include "sweep/process_setup.hpp"

#ifdef HEADROOM_HAVE_SIMD
#include "simd/kernel_table.hpp"
#endif

namespace {

#ifdef HEADROOM_HAVE_SIMD
constexpr headroom::sweep::KernelOf kKernelOf = headroom::simd::fma_kernel;
#else
constexpr headroom::sweep::KernelOf kKernelOf = nullptr;
#endif

}  // namespace

int main(int count, char** arguments) {
  headroom::sweep::open_standard_files();
  headroom::sweep::restart_with_passive_openmp(arguments);
  return headroom::cli::run_program(count, arguments, kKernelOf);
}
