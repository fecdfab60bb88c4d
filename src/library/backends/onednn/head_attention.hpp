// Softmax attention from oneDNN's matmul and softmax, one block of rows at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/onednn/block_workspace.hpp"
#include "backends/onednn/dense_heads.hpp"
#include "backends/onednn/member_rows.hpp"
#include "core/call/preparation.hpp"

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
  /// Rows of a key head's group, as in `Member`, for `members` heads whose keys lie one after
  /// the other.
  struct Block {
    std::int64_t first_sequence = 0;  ///< in the call; its heads begin at pair 0
    std::int64_t pairs = 0;           ///< of a sequence and a key head
    std::int64_t members = 1;
    std::int64_t row = 0, rows = 0;
    std::int64_t first_key = 0, keys = 0;
    ReadySize* size = nullptr;
  };
  struct Space {
    DenseHeads& heads;
    BlockWorkspace& blocks;
    const HeadPreparation& preparation;
    OnednnStore* store;
  };

  void attend(const AttendCall& call);
  /// @param most of the call's blocks
  void plan(const AttendCall& call, const Space& space, std::size_t most = SIZE_MAX);
  void plan_sequences(const AttendCall& call, std::int64_t first, std::int64_t count,
                      const Space& space, std::size_t most);
  std::int64_t padded_keys(std::int64_t keys, const Space& space) const;
  Member member_of(const AttendCall& call, const Space& space, const Block& block,
                   std::int64_t pair) const;
  void append(const AttendCall& call, const Space& space, std::int64_t pair) const;
  void run_block(const AttendCall& call, const Space& space, const Block& block,
                 std::int64_t first_pair, int slot) const;

  int threads_;
  Operand operand_;
  Case shape_;
  Device device_;
  std::int64_t group_;  ///< query heads of a key head
  std::int64_t block_rows_ = 0;
  std::int64_t slot_rows_ = 0;  ///< that a slot has room for, of all heads of a block together
  DenseHeads heads_;
  BlockWorkspace space_;
  HeadPreparation preparation_;
  std::vector<Block> blocks_;              ///< of the present call
  std::vector<std::int64_t> first_tasks_;  ///< of each block
  std::vector<std::int64_t> first_rows_;   ///< in `heads_`, of each sequence
  std::string provenance_;
};

}  // namespace headroom::onednn
