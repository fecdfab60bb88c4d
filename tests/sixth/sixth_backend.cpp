// A backend from outside the tree, unknown to src. Linked into headroom-sixth, whose
// commands must treat it like any other. It computes with the loops of the baseline.
#include <memory>
#include <optional>
#include <string>

#include "backends/backend.hpp"

namespace {

using namespace headroom;

BackendInfo describe() {
  BackendInfo info;
  info.name = "sixth";
  info.description = "the loops of the baseline, from outside the tree";
  info.available = true;
  info.library = "sixth 6.0";
  return info;
}

const BackendFacts& facts() {
  static const BackendFacts facts = [] {
    BackendFacts sixth;
    sixth.gflops = 10;  // twice the baseline's, so that estimates tell whose they are
    sixth.attend_bytes = [](const Case& shape) { return static_cast<double>(shape.tokens << 20); };
    sixth.preference = 1;
    sixth.build_packages = {"libsixth-dev"};
    return sixth;
  }();
  return facts;
}

std::optional<std::string> declines(const Case& shape) {
  if (shape.heads == 6) return "6 heads are declined on purpose";
  return std::nullopt;
}

std::unique_ptr<Backend> make(const BackendConfig& config) {
  return backend_entry(baseline_backend()).make(config);
}

// Built for another interface: listed with the reason and never called.
[[gnu::constructor(102)]] void register_from_the_future() {
  static constexpr BackendEntry kEntry{nullptr, nullptr, nullptr, nullptr};
  register_backend("seventh", kBackendInterface + 1, kEntry);
}

}  // namespace

HEADROOM_DEFINE_BACKEND(sixth) = {describe, facts, declines, make};
