#include "tuning/distance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/call/demand.hpp"

namespace headroom::tuning {
namespace {

double squared_doublings(std::int64_t a, std::int64_t b) {
  const auto log2_of = [](std::int64_t size) {
    return std::log2(static_cast<double>(std::max<std::int64_t>(size, 1)));
  };
  const double difference = log2_of(a) - log2_of(b);
  return difference * difference;
}

// Beyond any reach: products decide who is fastest for a layer, and attention alone has none.
constexpr double kOtherOperation = 100;

double squared_if(bool different, double doublings) {
  return different ? doublings * doublings : 0;
}

}  // namespace

double distance(const Case& a, const Case& b) {
  const double rows = 0.75 * squared_doublings(a.rows(), b.rows());
  // Without a past and a window a row sees as many keys as there are tokens.
  const double keys = 0.25 * squared_doublings(seen_keys(a), seen_keys(b));
  const double widths = (squared_doublings(a.d_in, b.d_in) + squared_doublings(a.d_out, b.d_out) +
                         squared_doublings(a.output_width(), b.output_width())) /
                        3;
  const double heads = 0.25 * (squared_doublings(a.heads, b.heads) +
                               squared_doublings(a.heads / a.key_heads(), b.heads / b.key_heads()));
  const double options =
      squared_if(a.has_projections() != b.has_projections(), kOtherOperation) +
      squared_if(a.causal != b.causal, 1) + squared_if((a.d_proj > 0) != (b.d_proj > 0), 1) +
      squared_if((a.dropout > 0) != (b.dropout > 0), 3) + squared_if(a.qkv_bias != b.qkv_bias, 0.1);
  return std::sqrt(rows + keys + widths + heads + options);
}

}  // namespace headroom::tuning
