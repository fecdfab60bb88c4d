// One rank's part of a cell's layer: the same for the leader and for those who follow.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "headroom/distributed.hpp"
#include "measure/group/problem.hpp"
#include "ranks/order.hpp"

namespace headroom::ranks {

class RankLayer {
 public:
  /// Collective: hands out weights and inputs, makes the layer and fills its cache.
  /// @param problem of the first rank, which must outlive this; null elsewhere
  /// @throws as `DistributedAttention`, on all ranks
  RankLayer(MPI_Comm ranks, const Order& order, const measure::Problem* problem);

  /// The call of the cell, every time after the same past. Collective.
  void pass(ConstMatrixView x, MatrixView y, PhaseTimes* times);
  /// The same with what the first rank has handed out.
  void pass() { pass(x_.view(), y_.view(), nullptr); }

  /// Waits for all ranks. @throws RankLost
  void meet() { attention_->meet(); }

  /// Collective: whether all ranks hold the same bits as the first. What that says is of use there
  /// alone. @return the first rank that differs
  std::optional<int> other_bits(ConstMatrixView y) const;
  std::optional<int> other_bits() const { return other_bits(y_.view()); }

  const DistributedAttention& attention() const { return *attention_; }
  std::int64_t cache_bytes() const { return cache_ ? cache_->bytes() : 0; }
  double fill_seconds() const { return fill_seconds_; }

 private:
  void fill(const Matrix& past, std::int64_t fill_tokens);

  MPI_Comm ranks_;
  Case shape_;  ///< of the cell
  Matrix x_, y_, memory_;
  std::optional<DistributedAttention> attention_;
  std::optional<DistributedCache> cache_;
  double fill_seconds_ = 0;
};

}  // namespace headroom::ranks
