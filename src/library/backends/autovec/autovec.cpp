// What the compiler achieves on its own: the textbook loops at -O3, once per instruction set.
#include "backends/textbook/textbook_backend.hpp"
#include "built_levels.hpp"
#include "headroom/error.hpp"

namespace {

const headroom::textbook::Kernels& kernels(headroom::Isa isa) {
  using headroom::Isa;
  namespace textbook = headroom::textbook;
#define HEADROOM_RETURN_LEVEL(level) \
  if (isa == Isa::level) return textbook::level::kKernels;
  HEADROOM_EACH_LEVEL(HEADROOM_RETURN_LEVEL)
#undef HEADROOM_RETURN_LEVEL
  throw headroom::Unavailable("backend 'autovec' is not compiled for instruction set '" +
                              std::string(headroom::to_string(isa)) +
                              "'; choose one that 'headroom info' lists");
}

headroom::BackendInfo describe() {
  headroom::BackendInfo info;
  info.name = "autovec";
  info.description = "the loops of naive, vectorised by the compiler, one thread";
  info.available = true;
  info.uses_isa = true;
  return info;
}

const headroom::BackendFacts& facts() {
  static const headroom::BackendFacts facts = [] {
    headroom::BackendFacts vectorised;
    vectorised.gflops = 16;
    vectorised.narrow_share = 0.8;
    vectorised.attend_bytes = headroom::autovec::score_bytes;
    vectorised.computes = headroom::autovec::computes;
    vectorised.preference = 40;
    vectorised.only_compared = true;
    return vectorised;
  }();
  return facts;
}

std::unique_ptr<headroom::Backend> make(const headroom::BackendConfig& config) {
  return std::make_unique<headroom::autovec::TextbookBackend>(
      kernels(config.target.isa), "loops:" + std::string(headroom::to_string(config.target.isa)),
      config.cache);
}

}  // namespace

HEADROOM_DEFINE_BACKEND(autovec) = {describe, facts, headroom::autovec::declines, make};
