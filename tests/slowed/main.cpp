#include "cli/commands.hpp"
#include "simd/kernel_table.hpp"

namespace {

headroom::machine::LimitKernels limit_kernels(headroom::Isa isa) {
  const headroom::simd::KernelTable& kernels = headroom::simd::kernel_table(isa);
  return {kernels.fma_chain, kernels.read_sum};
}

}  // namespace

int main(int count, char** arguments) {
  return headroom::cli::run_program(count, arguments, limit_kernels);
}
