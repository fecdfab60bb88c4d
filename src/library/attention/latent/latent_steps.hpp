// Attention over latents, which is what a cache keeps of them. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/backend.hpp"
#include "core/aligned_buffer.hpp"
#include "core/call/attend_call.hpp"
#include "core/case.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// The absorbed order. A score is `q . (W_k c) = (W_k^T q) . c`, so queries are multiplied by their
/// head's part of the key's weights, all heads attend over one head of latents, whose values are
/// these again, and what a head gives is multiplied by its part of the value's weights: for a few
/// rows after many that is less than to make keys and values of all of them.
class LatentSteps {
 public:
  LatentSteps(Backend& backend, const Case& shape, const WeightViews& weights);

  HeadAttention& attention() { return *attend_; }
  /// The layer as its cache sees it.
  const Case& shape() const { return inner_; }

  /// Appends latents of new tokens to the call's store, and turns them in place.
  /// @param call its sequences, store and parameters
  void append(const AttendCall& call, const BlockedView& latents);
  /// Attends after that. @param call its views of queries and of out
  void run(const AttendCall& call);

  OperationCosts costs() const;

 private:
  /// Rows of a slice: few enough for the absorbed queries of all heads to stay in caches.
  static constexpr std::int64_t kMostRows = 32;

  void run_slice(const AttendCall& call, std::int64_t rows);
  void absorb(const AttendCall& call, std::int64_t rows);
  void raise(std::int64_t rows);
  void write(const AttendCall& call) const;

  /// Rows of a slice where they lie in the call.
  struct Piece {
    std::int64_t first_row, first_out, rows;
  };

  Case inner_;
  std::int64_t heads_, own_, value_dim_, most_rows_;
  std::vector<std::unique_ptr<Projection>> absorb_, raise_;  ///< of each head
  std::unique_ptr<HeadAttention> attend_;
  AlignedBuffer queries_, context_, out_;
  std::vector<Sequence> appended_, slice_;
  std::vector<Piece> pieces_;
};

}  // namespace headroom
