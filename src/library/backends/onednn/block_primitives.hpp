// The three oneDNN primitives for one block of query rows of one or more heads, for one size.
#pragma once

#include <cstdint>
#include <string>

#include "backends/onednn/runtime.hpp"

namespace headroom::onednn {

/// Where one thread keeps a block's data.
struct BlockBuffers {
  void* query;     ///< `heads x queries x head_dim` operands, scaled
  float* scores;   ///< `heads x queries x keys`
  void* weights;   ///< softmax of the scores as operands: `scores` itself if these are floats
  float* context;  ///< `heads x queries x value_dim`
  float* scratch;
};

/// The work of one call of each primitive.
struct BlockSize {
  std::int64_t heads = 1;  ///< neighbours, whose keys and values lie one after the other
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_dim = 0, value_dim = 0;
  Operand operand = Operand::f32;

  bool operator==(const BlockSize&) const = default;
};

/// Scores, softmax in place, weighted values: for `queries` rows over the first `keys` keys.
class BlockPrimitives {
 public:
  BlockPrimitives(const Device& device, const BlockSize& size);

  std::int64_t queries() const { return size_.queries; }
  std::int64_t keys() const { return size_.keys; }
  std::int64_t scratch_floats() const { return scratch_floats_; }
  std::string provenance() const;

  /// The memory objects of one thread, which name its buffers.
  class Binding {
   public:
    Binding(const BlockPrimitives& primitives, const dnnl::engine& engine,
            const BlockBuffers& buffers);

   private:
    friend class BlockPrimitives;
    dnnl::memory query_, keys_, scores_, weights_, values_, context_;
    dnnl::memory score_scratch_, softmax_scratch_, context_scratch_;
  };

  void score(Binding& binding, const dnnl::stream& stream, void* keys) const;
  void softmax(Binding& binding, const dnnl::stream& stream) const;
  void weigh_values(Binding& binding, const dnnl::stream& stream, void* values) const;

 private:
  BlockSize size_;
  dnnl::matmul::primitive_desc score_plan_, context_plan_;
  dnnl::softmax_forward::primitive_desc softmax_plan_;
  dnnl::matmul score_, context_;
  dnnl::softmax_forward softmax_;
  dnnl::reorder round_;  ///< of the weights; empty for float operands
  std::int64_t scratch_floats_;
};

}  // namespace headroom::onednn
