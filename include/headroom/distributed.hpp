/// @file
/// One layer whose heads are divided over the ranks of an MPI communicator: component `mpi`.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "headroom/attention.hpp"
#include "headroom/call_sizes.hpp"
#include "headroom/export.h"
#include "headroom/head_share.hpp"
#include "headroom/layer_config.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// A rank has ended, or does not come where the others wait. The layer is of no more use, and
/// neither is its communicator.
class HEADROOM_API RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How ranks work together. Has to be the same on all ranks.
struct DistributedOptions {
  /// Seconds until a rank that lives, but does not come, is taken for lost; 0: never. It counts
  /// from the moment when another rank waits for it.
  double patience = 0;
  /// As if only so many ranks shared a machine, to try what happens between machines; 0: as they
  /// are.
  int ranks_per_machine = 0;
};

class DistributedCache;

/// `Attention` with its heads divided over ranks: each computes the share that `share_of` gives it,
/// by any backend, and packs only its own columns of W_q, W_k, W_v and rows of W_o. The sum over
/// ranks goes through memory that the ranks of a machine share, in the order of the ranks, and
/// between machines in the order of the machines. So y has the same bits on all ranks, and in every
/// run with the same number of ranks and machines, if the backend's own bits do not vary.
///
/// The constructor, the destructor, `forward` and `append` are collective: all ranks of the
/// communicator call them in the same order with the same sizes. Each rank brings the whole of x
/// and receives the whole of y. Between two calls ranks may run apart as they like.
///
/// What one rank refuses, all refuse: each throws what that rank would have thrown, and the message
/// names the rank. If a rank dies, those that wait for it on the same machine throw RankLost within
/// a second. Between machines the launcher has to end them; `mpirun` does.
///
/// Only the thread that made the layer may call it (`MPI_THREAD_FUNNELED` is enough). Each thread
/// of each rank needs a core: `mpirun` binds two processes or less to one core each, unless it is
/// called with `--bind-to none`.
class HEADROOM_API DistributedAttention {
 public:
  /// @param communicator is duplicated, and may be freed afterwards
  /// @param config the whole layer, the same on all ranks
  /// @param largest the largest call, the same on all ranks
  /// @param own what `share_weights` or `scatter_weights` gives this rank; nothing if its share has
  ///        no heads
  /// @param options of this rank's own part; `heads_of` is set by the layer. With `threads` 0 ranks
  ///        that are not bound to cores of their own all take every core.
  /// @throws as `Attention`, InvalidArgument if the ranks' layers differ, and ResourceError if MPI
  ///         or the system refuse the shared memory: on all ranks, naming the first that failed.
  DistributedAttention(MPI_Comm communicator, const LayerConfig& config, const CallSizes& largest,
                       const SplitWeights& own, const AttentionOptions& options = {},
                       const DistributedOptions& how = {});
  /// Collective, unless a rank was lost or MPI has been finalised.
  ~DistributedAttention();
  DistributedAttention(DistributedAttention&&) noexcept;
  DistributedAttention& operator=(DistributedAttention&&) noexcept;

  /// As `Attention::forward`. MPI may allocate memory between machines; else nothing is allocated
  /// beside what the backend allocates. A layer with dtype bf16 takes and gives floats.
  /// @throws as `Attention::forward`; InvalidArgument also if the ranks' calls differ in rows or
  ///         lengths; RankLost.
  /// @param x with its padding as many rows as the largest call at most
  /// @param call without a cache and without bf16 values; its mask is that of all heads. Its times
  ///        are those of this rank; `sum` holds the wait for the other ranks, too.
  /// @param cache of this layer, or null
  void forward(ConstMatrixView x, MatrixView y, const Call& call = {},
               DistributedCache* cache = nullptr);

  /// As `Attention::append`.
  void append(ConstMatrixView x, const Call& call, DistributedCache& cache);

  /// Waits until all ranks have come here. @throws RankLost
  void meet();

  const LayerConfig& config() const;        ///< of the whole layer
  const CallSizes& largest() const;         ///< call
  const HeadShare& share() const;           ///< of this rank
  int rank() const;                         ///< in the communicator
  int ranks() const;                        ///< of the communicator
  int machines() const;                     ///< that they are on
  const AttentionOptions& options() const;  ///< of this rank, as they took effect
  const Choice& choice() const;             ///< of this rank
  /// Bytes of all ranks together, the memory that ranks share among them; seconds of the slowest.
  const AttentionCosts& costs() const;

 private:
  friend class DistributedCache;
  class Plan;
  std::unique_ptr<Plan> plan_;
};

/// Keys and values of a layer's earlier tokens: each rank holds those of its own key heads.
class HEADROOM_API DistributedCache {
 public:
  /// Collective. @throws as `KeyValueCache`, on all ranks.
  DistributedCache(DistributedAttention& layer, const CacheSize& size);
  ~DistributedCache();
  DistributedCache(DistributedCache&&) noexcept;
  DistributedCache& operator=(DistributedCache&&) noexcept;

  std::int64_t sequences() const;
  std::int64_t capacity() const;
  /// @throws InvalidArgument if there is no such sequence.
  std::int64_t length(std::int64_t sequence = 0) const;
  /// As `KeyValueCache::truncate`; not collective, but all ranks have to do the same.
  void truncate(const CacheCut& to);
  void clear();
  /// Memory of this rank's part.
  std::int64_t bytes() const;

 private:
  friend class DistributedAttention;
  struct State;
  std::unique_ptr<State> state_;
};

/// Gives each rank the weights of its share. Collective; only rank 0 reads `all`, which may be null
/// elsewhere.
/// @throws InvalidArgument on all ranks if the weights do not fit the layer.
HEADROOM_API SplitWeights scatter_weights(MPI_Comm communicator, const LayerConfig& config,
                                          const SplitWeights* all);

}  // namespace headroom
