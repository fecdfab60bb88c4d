#include <algorithm>
#include <cstdint>
#include <vector>

#include "distributed/agreement.hpp"
#include "distributed/communicator.hpp"
#include "headroom/distributed.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

using distributed::check_mpi;
using distributed::Communicator;

constexpr int kTag = 1;
// MPI counts with int.
constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 28;

// Calls `move(data, count)` for all values of the weights, in pieces that MPI can count.
template <class Weights, class Move>
void for_each_piece(Weights& weights, const Move& move) {
  for (auto* values :
       {&weights.query.values, &weights.key.values, &weights.value.values, &weights.query_bias,
        &weights.key_bias, &weights.value_bias, &weights.output.values, &weights.output_bias,
        &weights.query_norm, &weights.key_norm, &weights.sinks, &weights.gate.values,
        &weights.position_bias.values, &weights.query_down.values, &weights.key_down.values,
        &weights.query_down_norm, &weights.key_down_norm}) {
    const auto size = static_cast<std::int64_t>(values->size());
    for (std::int64_t done = 0; done < size; done += kMostAtOnce) {
      move(values->data() + done, static_cast<int>(std::min(kMostAtOnce, size - done)));
    }
  }
}

SplitWeights room_for(const LayerConfig& config) {
  SplitWeights weights;
  weights.query = Matrix(config.query_depth(), config.d_out);
  weights.key = Matrix(config.key_depth(), config.own_key_width());
  weights.value = Matrix(config.key_depth(), config.value_width());
  if (config.qkv_bias) {
    weights.query_bias.resize(static_cast<std::size_t>(config.d_out));
    weights.key_bias.resize(static_cast<std::size_t>(config.kv_width()));
    weights.value_bias.resize(static_cast<std::size_t>(config.value_width()));
  }
  if (config.d_proj > 0) {
    weights.output = Matrix(config.context_width(), config.d_proj);
    weights.output_bias.resize(static_cast<std::size_t>(config.d_proj));
  }
  weights.query_norm.resize(static_cast<std::size_t>(config.query_norm_width()));
  weights.key_norm.resize(static_cast<std::size_t>(config.key_norm_width()));
  if (config.is_latent()) {
    weights.key_down = Matrix(config.d_in, config.latent_width());
    weights.key_down_norm.resize(static_cast<std::size_t>(config.latent.rank));
    weights.query_down =
        Matrix(config.latent.query_rank > 0 ? config.d_in : 0, config.latent.query_rank);
    weights.query_down_norm.resize(static_cast<std::size_t>(config.latent.query_rank));
  }
  if (config.sinks) weights.sinks.resize(static_cast<std::size_t>(config.heads));
  if (config.gate) weights.gate = Matrix(config.d_in, config.context_width());
  if (config.position_bias_rows() > 0) {
    weights.position_bias = Matrix(config.position_bias_rows(), config.heads);
  }
  return weights;
}

}  // namespace

SplitWeights scatter_weights(MPI_Comm communicator, const LayerConfig& config,
                             const SplitWeights* all) {
  const Communicator ranks = Communicator::copy_of(communicator);
  HeadShare share;
  SplitWeights own;
  distributed::agree(ranks.get(), distributed::said_by(ranks.rank(), [&] {
                       share = share_of(config, ranks.size(), ranks.rank());
                       if (ranks.rank() > 0) {
                         if (share.heads > 0) own = room_for(share_config(config, share));
                         return;
                       }
                       if (all == nullptr) {
                         throw InvalidArgument("weights: rank 0 brings none; it has to bring all");
                       }
                       own = share_weights(config, *all, share);
                     }));
  for (int rank = 1; rank < ranks.size(); ++rank) {
    const HeadShare other = share_of(config, ranks.size(), rank);
    if (other.heads == 0) continue;
    SplitWeights weights;
    // Nobody waits for what rank 0 has no memory to cut out.
    distributed::agree(ranks.get(), distributed::said_by(ranks.rank(), [&] {
                         if (ranks.rank() == 0) weights = share_weights(config, *all, other);
                       }));
    if (ranks.rank() == 0) {
      for_each_piece(weights, [&](const float* data, int count) {
        check_mpi(MPI_Send(data, count, MPI_FLOAT, rank, kTag, ranks.get()), "MPI_Send");
      });
    } else if (ranks.rank() == rank) {
      for_each_piece(own, [&](float* data, int count) {
        check_mpi(MPI_Recv(data, count, MPI_FLOAT, 0, kTag, ranks.get(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
      });
    }
  }
  return own;
}

}  // namespace headroom
