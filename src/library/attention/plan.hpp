// What a layer is made of. Only for the sources of this room.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "attention/formulation.hpp"
#include "attention/sequences.hpp"
#include "attention/views.hpp"
#include "backends/backend.hpp"
#include "core/aligned_buffer.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// Where query, key and value lie between the two operations: blocks of one head each.
struct HeadBlocks {
  std::array<BlockedView, 3> parts;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;

  /// Blocks of one part, or of several where they lie evenly one after the other.
  BlockedView slice(const PlannedProduct& product) const;
};

struct KeyValueCache::State {
  std::uint64_t layer = 0;  ///< `Plan::id` of the layer that it belongs to
  std::int64_t capacity = 0;
  std::vector<std::int64_t> lengths;
  std::unique_ptr<KeyValueStore> store;

  /// @throws InvalidArgument if there is no such sequence.
  std::int64_t& length(std::int64_t sequence);
};

class Attention::Plan {
 public:
  Plan(const Shape& wanted, const SplitWeights& weights, const AttentionOptions& wanted_options);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void forward(ConstMatrixView x, MatrixView y, const Call& call);
  void forward(ConstBf16MatrixView x, Bf16MatrixView y, const Call& call);
  void append(ConstMatrixView x, const Call& call);
  void append(ConstBf16MatrixView x, const Call& call);
  std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences, std::int64_t capacity);

  Shape shape;
  AttentionOptions options;
  Choice choice;
  AttentionCosts costs;
  std::uint64_t id;

 private:
  void prepare(const std::vector<PlannedProduct>& products, std::int64_t rows,
               std::unique_ptr<Projection>& projection);
  void make_buffers();
  void make_output(const SplitWeights& weights);
  void add_costs(const OperationCosts& part);
  void read(ConstMatrixView x, const Call& call);
  void grow(const Call& call) const;
  HeadBlocks place_heads(std::int64_t rows, std::int64_t memory_rows);
  HeadBlocks project_heads(ConstMatrixView x, const Call& call);
  void attend(const HeadBlocks& heads, const BlockedView& out, const Call& call);
  void run(ConstMatrixView x, MatrixView y, const Call& call);
  void check_forward(const AnyView& x, const AnyView& y, const AnyView& memory) const;
  void check_append(const Call& call) const;
  void append_rows(ConstMatrixView x, const Call& call);
  void make_rounded();
  template <class T>
  void read_rounded(const BasicMatrixView<const T>& x, const Call& call);
  template <class T>
  Call round_inputs(const BasicMatrixView<const T>& x, const Call& call, ConstMatrixView& rounded);
  template <class T>
  void forward_rounded(const BasicMatrixView<const T>& x, const BasicMatrixView<T>& y,
                       const Call& call);
  template <class T>
  void append_rounded(const BasicMatrixView<const T>& x, const Call& call);
  void require_stored_bf16(const char* what) const;
  ConstMatrixView without_padding(ConstMatrixView x, const Call& call);
  template <class Work>
  void for_each_row(const Call& call, const Work& work) const;
  void project_output(MatrixView y, const Call& call);

  std::unique_ptr<Backend> backend_;
  PlannedProducts products_;  ///< their views of the weights are not valid any more
  AlignedBuffer qkv_data_;
  AlignedBuffer context_data_;
  /// Of a layer that stores bf16: what a call brings, rounded to that, and y before it is rounded.
  AlignedBuffer x_data_, memory_data_, y_data_;
  std::unique_ptr<Projection> project_;
  std::unique_ptr<Projection> project_memory_;  ///< of a second input
  std::vector<BlockedView> destinations_;       ///< room for one per product
  std::unique_ptr<HeadAttention> attend_;
  std::unique_ptr<Projection> output_;
  Sequences sequences_;
};

// Calls `work(row, padded row)` for all rows of a padded call.
template <class Work>
void Attention::Plan::for_each_row(const Call& call, const Work& work) const {
  for (const std::span<const Sequence> list : {sequences_.list(), sequences_.blind()}) {
    for (const Sequence& sequence : list) {
      for (std::int64_t i = 0; i < sequence.rows; ++i) {
        work(sequence.first_row + i, sequence.number * call.padded_tokens + i);
      }
    }
  }
}

}  // namespace headroom
