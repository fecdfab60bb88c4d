#include "judge/rank_prediction.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "headroom/head_share.hpp"

namespace headroom::judge {
namespace {

constexpr int kMostPredicted = 64;
constexpr double kBytesOfFloat = 4;

// One after the other, in a reduce-scatter and an all-gather.
int messages(int ranks) {
  return 2 *
         static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));  // ceil(log2 R) each
}

// By each rank, of so many bytes that are added up.
double bytes_sent(int ranks, double bytes) {
  return 2 * (ranks - 1) / static_cast<double>(ranks) * bytes;
}

// Of the work of the query, key and value projections, that of the queries.
double share_of_queries(const Case& shape) {
  const double queries = 2 * static_cast<double>(shape.rows()) * static_cast<double>(shape.d_in) *
                         static_cast<double>(shape.d_out);
  const double all = shape.flops().qkv;
  return all > 0 ? queries / all : 1;
}

// The rank that computes most decides.
HeadShare largest_share(const Case& shape, int ranks) {
  HeadShare largest;
  for (int rank = 0; rank < ranks; ++rank) {
    const HeadShare share = share_of(shape, ranks, rank);
    largest.heads = std::max(largest.heads, share.heads);
    largest.key_heads = std::max(largest.key_heads, share.key_heads);
  }
  return largest;
}

}  // namespace

std::vector<int> predicted_ranks() {
  std::vector<int> all;
  for (int ranks = 1; ranks <= kMostPredicted; ranks *= 2) all.push_back(ranks);
  return all;
}

double sum_seconds(const Case& shape, int ranks, const record::Link& link) {
  if (ranks <= 1) return 0;
  const double bytes =
      kBytesOfFloat * static_cast<double>(shape.rows()) * static_cast<double>(shape.output_width());
  return bytes_sent(ranks, bytes) / link.bytes_per_s + messages(ranks) * link.latency_s;
}

record::Link link_of_sums(int ranks, double brief_seconds, double long_bytes, double long_seconds) {
  constexpr double kShortest = 1e-9;
  return {brief_seconds / messages(ranks),
          bytes_sent(ranks, long_bytes) / std::max(long_seconds - brief_seconds, kShortest)};
}

double predict_seconds(const Case& shape, const PhaseTimes& one_rank, int ranks,
                       const record::Link& link) {
  const HeadShare share = largest_share(shape, ranks);
  const double heads = static_cast<double>(share.heads) / static_cast<double>(shape.heads);
  const double key_heads =
      static_cast<double>(share.key_heads) / static_cast<double>(shape.key_heads());
  const double queries = share_of_queries(shape);
  const double qkv = one_rank.qkv * (queries * heads + (1 - queries) * key_heads);
  return qkv + (one_rank.attend + one_rank.output) * heads + sum_seconds(shape, ranks, link);
}

}  // namespace headroom::judge
