#include "ranks/link_meter.hpp"

#include <vector>

#include "distributed/communicator.hpp"
#include "headroom/distributed.hpp"
#include "headroom/initialise.hpp"
#include "judge/rank_prediction.hpp"
#include "statistics/samples.hpp"

namespace headroom::ranks {
namespace {

constexpr int kSamples = 31;

// Next to no work but the sum: a head of width 1 for each rank.
Case shape_of(int ranks, std::int64_t tokens, std::int64_t width) {
  Case shape;
  shape.tokens = tokens;
  shape.d_in = 1;
  shape.heads = ranks;
  shape.d_out = ranks;
  shape.d_proj = width;
  shape.window = 1;
  return shape;
}

double seconds_of_sum(MPI_Comm ranks, int count, std::int64_t tokens, std::int64_t width) {
  const Case shape = shape_of(count, tokens, width);
  int rank = 0;
  distributed::check_mpi(MPI_Comm_rank(ranks, &rank), "MPI_Comm_rank");
  const SplitWeights weights = gaussian_weights(shape, 1);
  AttentionOptions options;
  options.threads = 1;
  DistributedAttention layer(ranks, shape, shape,
                             share_weights(shape, weights, share_of(shape, count, rank)), options);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  Matrix y(shape.rows(), shape.output_width());
  std::vector<double> seconds;
  for (int i = 0; i < kSamples; ++i) {
    PhaseTimes times;
    layer.meet();
    layer.forward(x.view(), y.view(), {.times = &times});
    seconds.push_back(times.sum);
  }
  return statistics::median(seconds);
}

}  // namespace

record::Link measure_link(MPI_Comm ranks) {
  constexpr std::int64_t kTokens = 512, kWidth = 4096;
  int count = 1;
  distributed::check_mpi(MPI_Comm_size(ranks, &count), "MPI_Comm_size");
  if (count == 1) return {};
  const double brief = seconds_of_sum(ranks, count, 1, 16);
  const double full = seconds_of_sum(ranks, count, kTokens, kWidth);
  const double bytes = static_cast<double>(kTokens * kWidth) * sizeof(float);
  record::Link link = judge::link_of_sums(count, brief, bytes, full);
  // The same on all ranks: that of the first.
  distributed::check_mpi(MPI_Bcast(&link, sizeof link, MPI_BYTE, 0, ranks), "MPI_Bcast");
  return link;
}

}  // namespace headroom::ranks
