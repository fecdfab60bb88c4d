// The SIMD kernels on the calling thread.

#include "backends/backend.hpp"
#include "backends/simd_backend.hpp"
#include "simd/xsimd_version.hpp"

namespace headroom {
namespace {

BackendInfo describe() {
  BackendInfo info;
  info.name = "xsimd";
  info.description = "SIMD kernels on xsimd, one thread";
  info.available = !available_isas().empty();
  if (!info.available)
    info.reason = "this processor has none of the instruction sets of this build";
  info.library = simd::xsimd_version();
  info.uses_isa = true;
  return info;
}

std::optional<std::string> declines(const Case&) { return std::nullopt; }

const BackendFacts& facts() {
  static const BackendFacts facts = [] {
    BackendFacts kernels;
    kernels.gflops = 110;
    kernels.packs_heads_together = true;
    kernels.attend_bytes = simd::attend_bytes;
    kernels.kernel_variants = simd::kernel_variants;
    kernels.computes = simd::computes;
    kernels.preference = 10;
    kernels.build_packages = {"libxsimd-dev"};
    return kernels;
  }();
  return facts;
}

std::unique_ptr<Backend> make(const BackendConfig& config) {
  return simd::make_simd_backend(config, std::make_unique<SerialExecutor>());
}

}  // namespace
}  // namespace headroom

HEADROOM_DEFINE_BACKEND(xsimd) = {headroom::describe, headroom::facts, headroom::declines,
                                  headroom::make};
