// Softmax attention from oneDNN's matmul and softmax, one block of rows at a time.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/onednn/block_workspace.hpp"
#include "backends/onednn/dense_heads.hpp"
#include "core/call/key_range.hpp"
#include "core/call/preparation.hpp"
#include "headroom/dropout.hpp"

namespace headroom::onednn {

/// Keys and values of earlier calls, and the workspace of calls that see them.
struct OnednnStore final : public KeyValueStore {
  std::int64_t capacity = 0;  ///< rows of a head
  std::int64_t key_heads = 0;
  DenseHeads heads;
  BlockWorkspace space;
  HeadPreparation preparation;
  std::int64_t block_rows = 0;
  std::int64_t bytes() const override {
    return heads.bytes() + space.bytes() + preparation.bytes();
  }
  void copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
            std::int64_t tokens) override;
};

class OnednnAttention final : public HeadAttention {
 public:
  OnednnAttention(int threads, Operand operand, const Case& shape);
  std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences, std::int64_t capacity) override;
  void run(const AttendCall& call) override;
  OperationCosts costs() const override;

 private:
  /// Rows of a key head's group: row `i` is head `i % group` at position `i / group` of the call.
  /// For `members` heads whose keys lie one after the other.
  struct Block {
    std::int64_t first_sequence = 0;  ///< in the call; its heads begin at pair 0
    std::int64_t pairs = 0;           ///< of a sequence and a key head
    std::int64_t members = 1;
    std::int64_t row = 0, rows = 0;
    std::int64_t first_key = 0, keys = 0;
    ReadySize* size = nullptr;
  };
  /// One head of a block.
  struct Member {
    const Sequence* sequence = nullptr;
    std::int64_t key_head = 0;
    std::int64_t head = 0;       ///< in the dense memory
    std::int64_t first_row = 0;  ///< of the head there
    std::int64_t row = 0, rows = 0;
    std::int64_t first_key = 0, keys = 0;
  };
  struct Space {
    DenseHeads& heads;
    BlockWorkspace& blocks;
    const HeadPreparation& preparation;
    OnednnStore* store;
  };

  void attend(const AttendCall& call);
  void plan(const AttendCall& call, const Space& space);
  void plan_sequences(const AttendCall& call, std::int64_t first, std::int64_t count,
                      const Space& space);
  std::int64_t padded_keys(std::int64_t keys, const Space& space) const;
  Member member_of(const AttendCall& call, const Space& space, const Block& block,
                   std::int64_t pair) const;
  KeyRange seen_keys(const Sequence& sequence, std::int64_t row) const;
  void append(const AttendCall& call, const Space& space, std::int64_t pair) const;
  void run_block(const AttendCall& call, const Space& space, const Block& block,
                 std::int64_t first_pair, int slot) const;
  template <class T>
  void take_queries(const AttendCall& call, const Space& space, const Member& member, T* query,
                    unsigned char* careful) const;
  void mask(const AttendCall& call, const Member& member, float* scores,
            unsigned char* careful) const;
  bool apply_rule(const AttendCall& call, const Member& member, std::int64_t row, std::int64_t key,
                  std::int64_t count, float* scores) const;
  void weigh_beside_sinks(const AttendCall& call, const Member& member, float* scores) const;
  const float* sink_of(const AttendCall& call, const Member& member, std::int64_t row) const;
  void drop(const Member& member, float* factors, float* weights) const;
  void finish(const AttendCall& call, const Space& space, const Member& member, float* context,
              const unsigned char* careful, BlockSlot& slot) const;
  void run_careful_row(const AttendCall& call, const Space& space, const Member& member,
                       std::int64_t row, BlockSlot& slot, float* context) const;

  int threads_;
  Operand operand_;
  Case shape_;
  Device device_;
  std::int64_t group_;  ///< query heads of a key head
  std::int64_t block_rows_ = 0;
  std::int64_t slot_rows_ = 0;  ///< that a slot has room for, of all heads of a block together
  float scale_ = 1;             // of the scores of the present call
  DenseHeads heads_;
  BlockWorkspace space_;
  HeadPreparation preparation_;
  std::vector<Block> blocks_;              ///< of the present call
  std::vector<std::int64_t> first_tasks_;  ///< of each block
  std::vector<std::int64_t> first_rows_;   ///< in `heads_`, of each sequence
  std::string provenance_;
};

}  // namespace headroom::onednn
