#include "reference/oracle_cost.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

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

double mean_visible(const Shape& shape) {
  const auto tokens = static_cast<double>(shape.tokens);
  return shape.causal ? (tokens + 1) / 2 : tokens;
}

// A product together with its size takes about as long as one and a half products.
constexpr double kSizedProduct = 1.5;

Cost direct_cost(const Shape& shape, double tokens) {
  const double projection = kSizedProduct * product_flops(shape.d_in, shape.d_out);
  return {2 * projection * tokens,  // key and value
          projection + 2 * product_flops(shape.d_out, shape.d_proj) +
              10 * mean_visible(shape) * static_cast<double>(shape.d_out)};
}

Cost factored_cost(const Shape& shape) {
  return {0, (4 + kSizedProduct) * product_flops(shape.d_in, shape.d_out) +
                 2 * product_flops(shape.d_out, shape.d_proj) +
                 8 * mean_visible(shape) * static_cast<double>(shape.heads) *
                     static_cast<double>(shape.d_in)};
}

// Tokens whose keys and values the direct order computes for these rows.
double direct_tokens(const Shape& shape, const std::vector<std::int64_t>& rows) {
  const std::int64_t group = group_tokens(shape);
  std::int64_t groups = 0;
  std::int64_t last = -1;
  for (const std::int64_t row : rows) {
    if (row / group != last) ++groups;
    last = row / group;
  }
  return static_cast<double>(std::min(groups * group, shape.rows()));
}

}  // namespace

std::int64_t group_tokens(const Shape& shape) {
  constexpr std::int64_t kGroupTokens = 1024;
  return std::max<std::int64_t>(1, kGroupTokens / shape.tokens) * shape.tokens;
}

bool direct_is_cheaper(const Shape& shape, const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<double>(rows.size());
  return direct_cost(shape, direct_tokens(shape, rows)).of(count) <= factored_cost(shape).of(count);
}

std::vector<std::int64_t> all_rows(const Shape& shape) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shape.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

std::vector<std::int64_t> affordable_rows(const Shape& shape, double max_flops,
                                          std::uint64_t seed) {
  constexpr double kLeastRows = 4;
  const auto total = static_cast<double>(shape.rows());
  const double affordable = std::max({kLeastRows, direct_cost(shape, total).rows_for(max_flops),
                                      factored_cost(shape).rows_for(max_flops)});
  if (affordable >= total) return all_rows(shape);
  return sampled_rows(shape, static_cast<std::int64_t>(affordable), seed);
}

}  // namespace headroom::reference
