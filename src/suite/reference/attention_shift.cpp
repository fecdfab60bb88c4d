#include "reference/attention_shift.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace headroom::reference {
namespace {

using Weights = std::span<const float>;

// `p ln(p / q) - p + q`, whose sum is the divergence of weights that sum to 1. No term is negative,
// and what floats round away of p or q is of second order. A weight that underflows counts as the
// smallest float, or one key would make the mean infinite.
double divergence(Weights p, Weights q) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double from = std::max<double>(p[i], kLeast);
    const double to = std::max<double>(q[i], kLeast);
    sum += from * std::log(from / to) - from + to;
  }
  return sum;
}

std::ptrdiff_t largest(Weights weights) {
  return std::max_element(weights.begin(), weights.end()) - weights.begin();
}

}  // namespace

std::optional<AttentionShift> attention_shift(const Case& shape, const Expected& unrounded,
                                              const Expected& stored) {
  const auto heads = static_cast<std::size_t>(shape.heads);
  const std::size_t sinks = shape.sinks ? 1 : 0;
  AttentionShift shift;
  std::size_t rows = 0;
  bool choice = false;
  for (std::size_t row = 0; row < unrounded.attention_weights.size(); ++row) {
    const Weights all = unrounded.attention_weights[row];
    const Weights all_stored = stored.attention_weights[row];
    const std::size_t width = all.size() / heads;
    if (width <= sinks) continue;  // no key, or none kept of this row
    choice = choice || width > sinks + 1;
    for (std::size_t head = 0; head < heads; ++head, ++rows) {
      const Weights before = all.subspan(head * width, width);
      const Weights after = all_stored.subspan(head * width, width);
      shift.divergence += divergence(before, after);
      const bool same = largest(before.first(width - sinks)) == largest(after.first(width - sinks));
      shift.moved += same ? 0 : 1;
    }
  }
  if (!choice || !std::isfinite(shift.divergence)) return std::nullopt;
  shift.divergence /= static_cast<double>(rows);
  shift.moved /= static_cast<double>(rows);
  return shift;
}

}  // namespace headroom::reference
