#include "tuning/rule.hpp"

#include <fmt/format.h>

#include <vector>

#include "headroom/error.hpp"

namespace headroom::tuning {

RuleChoice choose_by_rule(const Request& request) {
  const double flops = request.shape.flops().total();
  const bool worth_threads = request.threads > 1 && flops >= kThreadedFlops;
  std::vector<std::string> order{"xsimd", "tbb", "onednn", "autovec", "naive"};
  if (worth_threads) order.insert(order.begin(), "tbb");
  for (const std::string& backend : order) {
    if (!request.usable.contains(backend)) continue;
    return {backend, request.formulation.value_or(Formulation::fused),
            fmt::format("by rule: {:.3g} MFLOP with {} thread{} allowed are {}worth several "
                        "threads, and {} comes first among the backends of this program",
                        flops * 1e-6, request.threads, request.threads == 1 ? "" : "s",
                        worth_threads ? "" : "not ", backend)};
  }
  throw Unavailable(
      fmt::format("auto: no backend of this program can run {}; link one, such as "
                  "headroom::xsimd",
                  request.shape.id()));
}

}  // namespace headroom::tuning
