// One head's rows of a block, beside the products: its queries, its scores, its results.
#pragma once

#include <cstdint>

#include "backends/onednn/block_workspace.hpp"
#include "backends/onednn/dense_heads.hpp"
#include "core/call/attend_call.hpp"
#include "core/call/key_range.hpp"
#include "core/case.hpp"

namespace headroom::onednn {

/// One head of a block. Row `i` of its group is head `i % group` at position `i / group`.
struct Member {
  const Sequence* sequence = nullptr;
  std::int64_t key_head = 0;
  std::int64_t head = 0;       ///< in the dense memory
  std::int64_t first_row = 0;  ///< of the head there
  std::int64_t row = 0, rows = 0;
  std::int64_t first_key = 0, keys = 0;
};

/// The keys that a row of a group sees.
KeyRange seen_keys(const Case& shape, const Sequence& sequence, std::int64_t row);

/// Refers to all that it is made of. `careful` has a flag for each row: whether it depends on a NaN
/// or Inf, or sees no key, so that the library's products cannot be trusted with it.
class MemberRows {
 public:
  MemberRows(const Case& shape, const AttendCall& call, const DenseHeads& heads,
             const Member& member);

  /// Packs the queries and sets `careful`. @param query floats or bf16
  template <class T>
  void take_queries(T* query, unsigned char* careful) const;
  /// Hides what a row does not see, and applies the cap and the call's mask.
  void mask(float* scores, unsigned char* careful) const;
  /// The library's softmax knows no sinks.
  void weigh_beside_sinks(float* scores) const;
  void drop(float* factors, float* weights) const;
  /// Writes the rows to the output, after recomputing the careful ones.
  void finish(float* context, const unsigned char* careful, BlockSlot& slot) const;

 private:
  std::int64_t head_of(std::int64_t row) const { return member_.key_head * group_ + row % group_; }
  const float* query_of(std::int64_t row) const {
    return call_.q.floats().at(member_.sequence->first_row + row / group_, head_of(row));
  }
  const float* sink_of(std::int64_t row) const {
    return call_.parameters.sinks == nullptr ? nullptr : call_.parameters.sinks + head_of(row);
  }
  void drop_row(std::int64_t row, KeyRange keys, float* factors, float* weights) const;
  bool apply_rule(std::int64_t row, KeyRange keys, float* scores) const;
  void run_careful_row(std::int64_t row, BlockSlot& slot, float* context) const;

  const Case& shape_;
  const AttendCall& call_;
  const DenseHeads& heads_;
  const Member& member_;
  std::int64_t group_;  ///< query heads of a key head
  float scale_;         ///< of the scores
};

}  // namespace headroom::onednn
