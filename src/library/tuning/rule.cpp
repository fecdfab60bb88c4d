#include "tuning/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "headroom/backend.hpp"
#include "headroom/error.hpp"

namespace headroom::tuning {

namespace {

using Backend = std::pair<const std::string, Usable>;

bool is_preferred(const Backend& a, const Backend& b) {
  return a.second.preference < b.second.preference;
}

// The backend that several threads pay for, or null.
const Backend* threaded_choice(const Request& request, double flops) {
  const Backend* best = nullptr;
  for (const Backend& backend : request.usable) {
    const Usable& usable = backend.second;
    const bool pays =
        usable.threads > 1 && usable.threads_pay_from && flops >= *usable.threads_pay_from;
    if (pays && (best == nullptr || is_preferred(backend, *best))) best = &backend;
  }
  return best;
}

}  // namespace

RuleChoice choose_by_rule(const Request& request) {
  if (request.usable.empty()) {
    throw Unavailable(
        fmt::format("auto: no backend of this program can run {}; link one, such as "
                    "headroom::tbb",
                    request.shape.id()));
  }
  const double flops = request.shape.flops().total();
  const Backend* threaded = threaded_choice(request, flops);
  const Backend& choice =
      threaded != nullptr
          ? *threaded
          : *std::min_element(request.usable.begin(), request.usable.end(), is_preferred);
  return {choice.first, request.formulation.value_or(Formulation::fused),
          fmt::format("by rule: {:.3g} MFLOP with {} thread{} allowed are {}worth several threads, "
                      "and {} ranks first among the backends of this program",
                      flops * 1e-6, request.threads, request.threads == 1 ? "" : "s",
                      threaded != nullptr ? "" : "not ", choice.first)};
}

}  // namespace headroom::tuning
