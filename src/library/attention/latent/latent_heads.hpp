// Queries, keys and values that are made of latents. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attention/head_blocks.hpp"
#include "backends/backend.hpp"
#include "core/aligned_buffer.hpp"
#include "core/case.hpp"
#include "headroom/formulation.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// Products of one input, and where they write.
struct LatentProducts {
  ProjectionSpec spec;
  std::vector<AnyBlockedView> to;
  std::unique_ptr<Projection> projection;

  /// A product of the first `cols` columns, of one matrix, or of one for each block of a head.
  void add(const ConstAnyMatrix& weights, std::int64_t cols, std::int64_t block_cols,
           bool per_head = false);
};

/// The expanded order: x to latents, their norms, latents to queries, keys and values of all heads.
class LatentHeads {
 public:
  LatentHeads(Backend& backend, Formulation formulation, const Case& shape,
              const WeightViews& weights, Dtype dtype);

  /// Latents, and queries of all heads.
  /// @param room for queries, keys and values of as many rows
  void project(const ConstAnyMatrix& x, float* room);
  /// Keys and values of all heads. What heads share of a key is copied to each.
  void expand();
  const HeadBlocks& heads() const { return heads_; }
  /// Of each row its latent, then what heads share of its key.
  BlockedView latents() const { return latents_; }

  OperationCosts costs() const;

 private:
  void place(std::int64_t rows, float* room);
  void plan_down(const WeightViews& weights);
  void plan_queries(const WeightViews& weights, LatentProducts& products) const;
  void plan_keys(const WeightViews& weights);
  void make(Backend& backend, bool rounds, LatentProducts& products) const;
  void write_keys_to();
  bool per_head() const { return formulation_ == Formulation::wrapper; }
  bool together() const { return formulation_ == Formulation::fused; }

  Case shape_;
  Formulation formulation_;
  bool head_major_;
  std::vector<float> query_norm_, key_norm_;
  AlignedBuffer down_;  ///< rows of both latents
  LatentProducts of_x_, of_query_latent_, of_latent_;
  BlockedView query_latents_, latents_;
  HeadBlocks heads_;
};

}  // namespace headroom
