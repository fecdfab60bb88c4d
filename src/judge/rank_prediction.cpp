#include "judge/rank_prediction.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace headroom::judge {
namespace {

constexpr int kMostPredicted = 64;
constexpr double kBytesOfFloat = 4;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Of the work of the query, key and value projections, that of the queries.
double share_of_queries(const Shape& shape) {
  const double queries = 2 * static_cast<double>(shape.rows()) * static_cast<double>(shape.d_in) *
                         static_cast<double>(shape.d_out);
  const double all = shape.flops().qkv;
  return all > 0 ? queries / all : 1;
}

}  // namespace

std::vector<int> predicted_ranks() {
  std::vector<int> all;
  for (int ranks = 1; ranks <= kMostPredicted; ranks *= 2) all.push_back(ranks);
  return all;
}

HeadShare largest_share(const Shape& shape, int ranks) {
  const std::int64_t groups = shape.key_heads();
  const std::int64_t in_group = shape.heads / groups;
  if (ranks <= groups) {
    const double share = static_cast<double>(ceil_div(groups, ranks)) / static_cast<double>(groups);
    return {share, share};
  }
  // Where they cannot be divided evenly, the groups with one rank less decide.
  const std::int64_t ranks_of_group = ranks / groups;
  const std::int64_t queries = ceil_div(in_group, ranks_of_group);
  return {static_cast<double>(queries) / static_cast<double>(shape.heads),
          1 / static_cast<double>(groups)};
}

double sum_seconds(const Shape& shape, int ranks, const record::Link& link) {
  if (ranks <= 1) return 0;
  const double bytes =
      kBytesOfFloat * static_cast<double>(shape.rows()) * static_cast<double>(shape.output_width());
  const int steps = std::bit_width(static_cast<unsigned>(ranks - 1));  // ceil(log2 R)
  return 2 * (ranks - 1) / static_cast<double>(ranks) * bytes / link.bytes_per_s +
         2 * steps * link.latency_s;
}

double predict_seconds(const Shape& shape, const PhaseTimes& one_rank, int ranks,
                       const record::Link& link) {
  const HeadShare share = largest_share(shape, ranks);
  const double queries = share_of_queries(shape);
  const double qkv = one_rank.qkv * (queries * share.queries + (1 - queries) * share.keys);
  return qkv + (one_rank.attend + one_rank.output) * share.queries +
         sum_seconds(shape, ranks, link);
}

}  // namespace headroom::judge
