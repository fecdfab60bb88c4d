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

RulePrecision precision_by_rule(const Case& shape, const Usable& usable) {
  const Computed& first = usable.computed.front();
  const Computed* waiting = nullptr;  // for more rows
  for (const Computed& each : usable.computed) {
    if (!each.pays_from_rows) continue;
    if (shape.rows() >= *each.pays_from_rows) {
      return {each.precision,
              fmt::format("by rule: {} multiplies {} faster than vectors multiply f32, within the "
                          "same error limits",
                          each.unit, to_string(each.precision))};
    }
    if (waiting == nullptr) waiting = &each;
  }
  if (waiting != nullptr) {
    return {first.precision,
            fmt::format("by rule: {} is faster with {} from {} rows on, and calls have at most {}",
                        waiting->unit, to_string(waiting->precision), *waiting->pays_from_rows,
                        shape.rows())};
  }
  return {first.precision,
          usable.computed.size() > 1
              ? fmt::format("by rule: {} is slower than f32", usable.computed.back().unit)
              : "by rule: nothing else here has the error limits of f32"};
}

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
