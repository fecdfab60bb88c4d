#include "cli/line/run_program.hpp"
#include "program/process_setup.hpp"

#ifdef HEADROOM_HAVE_MPI
#include "ranks/rank_process.hpp"
#endif
#ifdef HEADROOM_HAVE_SIMD
#include "simd/kernel_table.hpp"
#include "simd/tiles/tile_kernels.hpp"
#endif

namespace {

#ifdef HEADROOM_HAVE_SIMD
headroom::machine::LimitKernels limit_kernels(const headroom::Target& target) {
  const headroom::simd::KernelTable& kernels = headroom::simd::kernel_table(target.isa);
  return {kernels.fma_chain, kernels.read_sum, kernels.tile_chain,
          headroom::simd::product_bursts(target)};
}
constexpr headroom::machine::LimitKernelsOf kLimits = limit_kernels;
#else
constexpr headroom::machine::LimitKernelsOf kLimits = nullptr;
#endif

#ifdef HEADROOM_HAVE_MPI
constexpr headroom::cli::RunAsRank kRunAsRank = headroom::ranks::run_as_rank;
#else
constexpr headroom::cli::RunAsRank kRunAsRank = nullptr;
#endif

}  // namespace

int main(int count, char** arguments) {
  headroom::open_standard_files();
  headroom::restart_with_passive_openmp(arguments);
  return headroom::cli::run_program(count, arguments, kLimits, kRunAsRank);
}
