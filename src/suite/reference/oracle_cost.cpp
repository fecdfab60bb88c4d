#include "reference/oracle_cost.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "reference/call_rows.hpp"
#include "reference/row_sample.hpp"

namespace headroom::reference {
namespace {

// Operations of either order; an error of a few per cent does not change the choice.
struct Cost {
  double fixed = 0;
  double per_row = 0;

  double of(double rows) const { return fixed + per_row * rows; }
  double rows_for(double flops) const { return (flops - fixed) / per_row; }
};

double product_flops(std::int64_t a, std::int64_t b) {
  return 2 * static_cast<double>(a) * static_cast<double>(b);
}

// Keys that a row sees, on average. Exact for plain shapes: all factors are small integers.
double mean_visible(const Case& shape) {
  Case plain = shape;
  plain.latent = {};  // which has another order after a past, and as many pairs
  const double pairs =
      plain.flops().attention / (2 * static_cast<double>(shape.d_out + shape.context_width()));
  return pairs / static_cast<double>(std::max<std::int64_t>(1, shape.rows()));
}

// A product together with its size takes about as long as one and a half products.
constexpr double kSizedProduct = 1.5;

Cost direct_cost(const Case& shape, double tokens) {
  const std::int64_t of_latent = shape.is_latent() ? shape.latent_width() : 0;
  const double keys_and_values =
      kSizedProduct * (product_flops(shape.key_depth(), shape.kv_width() + shape.value_width()) +
                       product_flops(shape.d_in, of_latent));
  return {keys_and_values * tokens,
          kSizedProduct * (product_flops(shape.query_depth(), shape.d_out) +
                           product_flops(shape.d_in, shape.latent.query_rank)) +
              2 * product_flops(shape.context_width(), shape.d_proj) +
              5 * mean_visible(shape) * static_cast<double>(shape.d_out + shape.context_width())};
}

Cost factored_cost(const Case& shape) {
  return {0, kSizedProduct * product_flops(shape.d_in, shape.d_out) +
                 2 * product_flops(shape.key_input(), shape.d_out + shape.context_width()) +
                 2 * product_flops(shape.context_width(), shape.d_proj) +
                 8 * mean_visible(shape) * static_cast<double>(shape.heads) *
                     static_cast<double>(shape.key_input())};
}

// Tokens whose keys and values the direct order computes for all rows.
double all_tokens(const Case& shape) { return static_cast<double>(shape.batch * seen_keys(shape)); }

// The same for these rows.
double direct_tokens(const Case& shape, const std::vector<std::int64_t>& rows) {
  const Sequences sequences(shape);
  const std::int64_t group = group_sequences(shape);
  std::int64_t groups = 0;
  std::int64_t last = -1;
  for (const std::int64_t row : rows) {
    const std::int64_t number = sequences.of(row) / group;
    if (number != last) ++groups;
    last = number;
  }
  return std::min(static_cast<double>(groups * group * seen_keys(shape)), all_tokens(shape));
}

// Whether nothing stands between x and the scores but weights.
bool can_be_factored(const Case& shape) {
  return shape.has_projections() && !shape.is_latent() &&
         shape.rotary.pairs == Rotary::Pairs::none && shape.norm.over == QueryKeyNorm::Over::none &&
         shape.temperature.step == 0 && shape.clip == 0;
}

}  // namespace

std::int64_t group_sequences(const Case& shape) {
  constexpr std::int64_t kGroupTokens = 1024;
  return std::max<std::int64_t>(1, kGroupTokens / std::max<std::int64_t>(1, seen_keys(shape)));
}

bool direct_is_cheaper(const Case& shape, const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<double>(rows.size());
  return direct_cost(shape, direct_tokens(shape, rows)).of(count) <= factored_cost(shape).of(count);
}

bool takes_direct_order(const Case& shape, const std::vector<std::int64_t>& rows) {
  constexpr double kSmallEffort = 1e9;
  const bool all = std::ssize(rows) == shape.rows();
  const bool keys_of_x = shape.past == 0 && shape.d_memory == 0;
  if (!can_be_factored(shape) || (all && keys_of_x)) return true;
  const auto count = static_cast<double>(rows.size());
  const bool small = direct_cost(shape, direct_tokens(shape, rows)).of(count) <= kSmallEffort;
  return (all && small) || direct_is_cheaper(shape, rows);
}

std::vector<std::int64_t> all_rows(const Case& shape) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shape.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

std::vector<std::int64_t> affordable_rows(const Case& shape, double max_flops, std::uint64_t seed) {
  constexpr double kLeastRows = 4;
  const auto total = static_cast<double>(shape.rows());
  double affordable = direct_cost(shape, all_tokens(shape)).rows_for(max_flops);
  if (can_be_factored(shape)) {
    affordable = std::max(affordable, factored_cost(shape).rows_for(max_flops));
  }
  affordable = std::max(kLeastRows, affordable);
  if (affordable >= total) return all_rows(shape);
  return sampled_rows(shape, static_cast<std::int64_t>(affordable), seed);
}

}  // namespace headroom::reference
