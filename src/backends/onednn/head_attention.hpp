// Softmax attention from oneDNN's matmul and softmax, one block of query rows at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/onednn/block_primitives.hpp"
#include "backends/onednn/careful_rows.hpp"
#include "headroom/dropout.hpp"

namespace headroom::onednn {

class OnednnAttention final : public HeadAttention {
 public:
  OnednnAttention(int threads, const Shape& shape);
  void run(const ConstBlockedView& q, const ConstBlockedView& k, const ConstBlockedView& v,
           const BlockedView& out) override;
  OperationCosts costs() const override;

 private:
  struct Views {
    ConstBlockedView q, k, v;
    BlockedView out;
  };
  /// The workspace of one thread, for any block.
  struct Slot {
    AlignedBuffer query, scores, context, scratch, factors;
    std::vector<unsigned char> careful;              ///< rows of the group that plain loops compute
    std::vector<BlockPrimitives::Binding> bindings;  ///< one per member of `sizes_`
  };

  void make_sizes();
  void make_slots();
  std::size_t size_of_block(std::int64_t block) const;
  void pack_head(const Views& views, std::int64_t head_index);
  void run_block(const Views& views, std::int64_t first_head, std::int64_t block, Slot& slot);
  void mark_careful(const Views& views, std::int64_t head_index, std::int64_t first_row,
                    const BlockPrimitives& size, float* query, unsigned char* careful);
  void mask(const BlockPrimitives& size, std::int64_t first_row, float* scores) const;
  void drop_block(const BlockPrimitives& size, std::int64_t head_index, std::int64_t first_row,
                  float* factors, float* weights) const;
  void finish_block(const Views& views, std::int64_t head_index, std::int64_t first_row,
                    const BlockPrimitives& size, std::int64_t member, Slot& slot) const;
  void drop(std::uint64_t row_index, std::int64_t keys, float* factors, float* weights) const;
  void run_careful_row(const Views& views, std::int64_t head_index, std::int64_t row, Slot& slot,
                       float* context) const;

  int threads_;
  Shape shape_;
  Device device_;
  std::int64_t heads_;  ///< of all sequences
  std::int64_t block_rows_;
  std::int64_t blocks_;  ///< of query rows in a head
  std::int64_t group_;   ///< heads that one call covers
  float scale_;
  std::vector<BlockPrimitives> sizes_;
  AlignedBuffer keys_, values_;                  ///< dense copies, head by head
  std::vector<std::int64_t> first_special_key_;  ///< of each head; `tokens` if all are finite
  std::vector<Slot> slots_;
};

}  // namespace headroom::onednn
