// Truly scalar: the textbook loops with vectorisation switched off.
#include "backends/textbook/textbook_backend.hpp"

namespace {

headroom::BackendInfo describe() {
  headroom::BackendInfo info;
  info.name = "naive";
  info.description = "loops as the definition reads, not vectorised, one thread";
  info.available = true;
  return info;
}

const headroom::BackendFacts& facts() {
  static const headroom::BackendFacts facts = [] {
    headroom::BackendFacts plain;
    plain.gflops = 5;
    plain.attend_bytes = headroom::naive::score_bytes;
    plain.computes = headroom::naive::computes;
    plain.preference = 50;
    plain.only_compared = true;
    return plain;
  }();
  return facts;
}

std::unique_ptr<headroom::Backend> make(const headroom::BackendConfig& config) {
  return std::make_unique<headroom::naive::TextbookBackend>(headroom::textbook::scalar::kKernels,
                                                            "loops:scalar", config.cache);
}

}  // namespace

HEADROOM_DEFINE_BACKEND(naive) = {describe, facts, headroom::naive::declines, make};
