// What a layer is made of. Only for the sources of this room.
#pragma once

#include <memory>
#include <vector>

#include "attention/formulation.hpp"
#include "attention/head_blocks.hpp"
#include "attention/key_value_state.hpp"
#include "attention/latent/latent_heads.hpp"
#include "attention/latent/latent_steps.hpp"
#include "attention/rotary/call_angles.hpp"
#include "attention/sequences.hpp"
#include "attention/views.hpp"
#include "backends/backend.hpp"
#include "core/aligned_buffer.hpp"
#include "core/call/position_bias.hpp"
#include "core/case.hpp"
#include "headroom/attention.hpp"

namespace headroom {

class [[gnu::visibility("hidden")]] Attention::Plan {
 public:
  Plan(const Case& largest, const WeightViews& weights, const AttentionOptions& wanted_options);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void forward(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call);
  void append(const ConstAnyMatrix& x, const Call& call);
  std::unique_ptr<KeyValueStore> make_store(const CacheSize& size);

  Case shape;  ///< of the largest call
  AttentionOptions options;
  Choice choice;
  AttentionCosts costs;
  std::uint64_t id;

 private:
  void prepare(const std::vector<PlannedProduct>& products, std::int64_t rows,
               std::unique_ptr<Projection>& projection);
  void make_buffers();
  void make_latent(const WeightViews& weights);
  void make_output(const WeightViews& weights);
  void keep_parameters(const WeightViews& weights);
  void make_gate(const WeightViews& weights);
  void clip_heads(const HeadBlocks& heads) const;
  void find_row_factors(const HeadBlocks& heads);
  void add_costs(const OperationCosts& part);
  void read(const ConstAnyMatrix& x, const Call& call);
  void check_turned(const KeyValueCache::State& cache) const;
  void grow(const Call& call) const;
  HeadBlocks place_heads(std::int64_t rows, std::int64_t memory_rows);
  HeadBlocks project_heads(const ConstAnyMatrix& x, const Call& call);
  AttendCall attend_call(const HeadBlocks& heads, const AnyBlockedView& out, const Call& call)
      const;
  void attend(const HeadBlocks& heads, const AnyBlockedView& out, const Call& call,
              const float* angles);
  bool expands(const Call& call) const;
  void run(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call);
  void check_stored(const WeightViews& weights) const;
  void check_cache_storage() const;
  void check_dtype(const char* name, const ConstAnyMatrix& view) const;
  void check_append(const ConstAnyMatrix& x, const Call& call);
  void check_forward(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call);
  void check_call_mask(const Call& call, const ConstAnyMatrix& y);
  ConstAnyMatrix without_padding(const ConstAnyMatrix& x, const Call& call);
  template <class Work>
  void for_each_row(const Call& call, const Work& work) const;
  void round_output(const AnyBlockedView& from, const AnyMatrix& y, const Call& call) const;
  void project_output(const AnyMatrix& y, const Call& call);

  std::unique_ptr<Backend> backend_;
  PlannedProducts products_;  ///< their views of the weights are not valid any more
  AlignedBuffer qkv_data_;
  AlignedBuffer context_data_;
  AlignedBuffer y_data_;  ///< floats, where attention writes y and the backend's writes no other
  std::unique_ptr<Projection> project_;
  std::unique_ptr<Projection> project_memory_;  ///< of a second input
  std::vector<AnyBlockedView> destinations_;    ///< room for one per product
  std::unique_ptr<LatentHeads> latent_;         ///< in place of these, where there are latents
  std::unique_ptr<LatentSteps> steps_;
  std::unique_ptr<HeadAttention> attend_;
  std::vector<float> query_norm_, key_norm_, sinks_;
  std::vector<float> query_factors_, key_factors_;  ///< of a norm over the width, one for each row
  HeadParameters parameters_;
  DistanceTable distances_;
  std::unique_ptr<Projection> gate_;
  AlignedBuffer gate_data_;
  std::unique_ptr<Projection> output_;
  Sequences sequences_;
  CallAngles angles_;
};

// Calls `work(row, padded row)` for all rows of a padded call.
template <class Work>
void Attention::Plan::for_each_row(const Call& call, const Work& work) const {
  for (const std::span<const Sequence> list : {sequences_.list(), sequences_.blind()}) {
    for (const Sequence& sequence : list) {
      for (std::int64_t i = 0; i < sequence.rows; ++i) {
        work(sequence.first_row + i, call.padded_row(sequence.number, sequence.rows) + i);
      }
    }
  }
}

}  // namespace headroom
