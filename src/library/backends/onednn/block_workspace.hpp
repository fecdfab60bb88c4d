// The primitives of the block sizes in use, and each thread's memory for them.
#pragma once

#include <deque>
#include <list>
#include <vector>

#include "backends/onednn/block_primitives.hpp"
#include "core/aligned_buffer.hpp"
#include "headroom/layer_config.hpp"

namespace headroom::onednn {

/// The workspace of one thread, for any block.
struct BlockSlot {
  AlignedBuffer query, scores, weights, context, scratch, factors;
  std::vector<unsigned char> careful;  ///< rows of the block that plain loops compute
};

/// One size, made ready for every thread.
struct ReadySize {
  BlockSize size;
  BlockPrimitives primitives;
  std::vector<BlockPrimitives::Binding> bindings;  ///< one for each slot
  std::uint64_t last_call = 0;
};

class BlockWorkspace {
 public:
  BlockWorkspace() = default;
  /// @param rows of a block, of all its heads together
  /// @param keys the most of a block
  BlockWorkspace(int threads, std::int64_t rows, std::int64_t score_floats, std::int64_t keys,
                 const LayerConfig& layer, Operand operand);

  /// To be called before the sizes of a call are asked for: these are all kept until the next.
  void begin_call() { ++call_; }
  /// Made at its first use, which takes milliseconds. Those least recently used go when there are
  /// more than `kMostSizes`.
  ReadySize& find(const Device& device, const BlockSize& size);

  int slots() const { return static_cast<int>(slots_.size()); }
  std::int64_t score_floats() const { return slots_.front().scores.size(); }
  BlockSlot& slot(int i) { return slots_[static_cast<std::size_t>(i)]; }
  std::int64_t bytes() const;

 private:
  static constexpr std::size_t kMostSizes = 64;

  void make_room();

  std::deque<BlockSlot> slots_;
  std::list<ReadySize> sizes_;
  std::uint64_t call_ = 0;
};

}  // namespace headroom::onednn
