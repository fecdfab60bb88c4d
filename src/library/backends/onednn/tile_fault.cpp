#include "backends/onednn/tile_fault.hpp"

#include <fmt/format.h>

namespace headroom::onednn {

Version library_version() {
  const dnnl_version_t* version = dnnl_version();
  return {version->major, version->minor, version->patch};
}

std::string tile_fault_of(Version version, dnnl::cpu_isa in_use) {
  // A level's bits contain those of the levels below it.
  constexpr auto kTiles = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  if (!has_tile_fault(version) || (static_cast<unsigned>(in_use) & kTiles) != kTiles) return "";
  return fmt::format(
      "backend 'onednn' does not compute bf16 in this process: oneDNN {}.{}.{} can end it while it "
      "uses AMX, and could not be kept from that because it was used before the first layer was "
      "made; make a layer first, set DNNL_MAX_CPU_ISA=AVX512_CORE_BF16, or take oneDNN 2.7.4, 3.1 "
      "or a later one",
      version.major, version.minor, version.patch);
}

}  // namespace headroom::onednn
