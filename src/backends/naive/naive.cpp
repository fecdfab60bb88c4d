// Scalar means scalar: the textbook loops with vectorisation switched off.
#include "backends/naive/textbook_backend.hpp"

namespace {

headroom::BackendInfo describe() {
  headroom::BackendInfo info;
  info.name = "naive";
  info.description = "loops as the definition reads, not vectorised, one thread";
  info.available = true;
  return info;
}

std::unique_ptr<headroom::Backend> make(const headroom::BackendConfig&) {
  return std::make_unique<headroom::naive::TextbookBackend>(headroom::textbook::scalar::kKernels,
                                                            "loops:scalar");
}

}  // namespace

HEADROOM_DEFINE_BACKEND(naive) = {describe, headroom::naive::declines, make};
