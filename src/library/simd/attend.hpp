// Streaming attention over an executor: which heads, tiles and segments become tasks.
#pragma once

#include <memory>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "core/call/attend_call.hpp"
#include "core/call/preparation.hpp"
#include "core/case.hpp"
#include "core/executor.hpp"
#include "headroom/dropout.hpp"
#include "simd/kernel_table.hpp"
#include "simd/packed_heads.hpp"
#include "simd/tiles/tile_products.hpp"

namespace headroom::simd {

/// Keys and values of earlier calls, packed.
struct PackedStore final : public KeyValueStore {
  std::int64_t capacity = 0;  ///< keys of a head, whole panels
  std::int64_t key_heads = 0;
  std::int64_t panel = 0;      ///< keys of one
  PackedHeads heads;           ///< of all sequences, `key_heads` each
  AlignedBuffer rows;          ///< in their place, keys as they come, where values lie in them
  std::int64_t row_bytes = 0;  ///< of one of these; 0: there are none
  HeadPreparation preparation;
  AlignedBuffer states;  ///< of the segments that threads share
  std::int64_t bytes() const override {
    return heads.bytes() + rows.bytes() + preparation.bytes() + states.bytes();
  }
  void copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
            std::int64_t tokens) override;
};

class StreamingAttention {
 public:
  /// @param tiles for sequences of many rows of queries, if there are any
  /// @param dtype what keys and values are stored as
  /// @param shape the layer, and the largest call
  /// @param prefetches see ProjectVariant
  StreamingAttention(const KernelTable& kernels, const TileChoice& tiles, Dtype dtype,
                     const Case& shape, const Executor& executor, bool prefetches = false);

  std::unique_ptr<PackedStore> make_store(const Executor& executor, std::int64_t sequences,
                                          std::int64_t capacity) const;

  /// @param store of this object, or null; the call's own is not looked at
  void run(const Executor& executor, const AttendCall& call, PackedStore* store);

  std::int64_t workspace_bytes() const {
    return slot_heads_.bytes() + shared_heads_.bytes() + preparation_.bytes() + scratch_.bytes() +
           room_.bytes();
  }

 private:
  struct Run;

  PackedHeads::Head place(const Run& run, std::int64_t pair, int slot);
  void append(const Run& run, std::int64_t pair, const PackedHeads::Head& head) const;
  AttendTask task_of(const Run& run, std::int64_t pair, const PackedHeads::Head& head, int slot);
  void add_mask(AttendTask& task, const ScoreMask& mask) const;
  std::int64_t tile_height(std::int64_t rows) const;
  std::int64_t tiles_per_task(std::int64_t rows) const;
  void attend(AttendTask& task) const;
  bool reads_in_place(const Run& run) const;
  void run_in_place(const Executor& executor, const Run& run);
  void run_whole_heads(const Executor& executor, const Run& run);
  void run_tiles(const Executor& executor, const Run& run);
  void run_segments(const Executor& executor, const Run& run);
  double expected_seconds(std::span<const Sequence> sequences) const;

  const KernelTable* kernels_;
  TileChoice tiles_;
  Dtype dtype_;
  bool prefetches_;
  Case shape_;
  DropoutPattern dropout_;
  std::int64_t group_ = 1;  ///< query heads of a key head
  std::int64_t panel_ = 0;  ///< keys per panel
  ScoreCap cap_;
  bool in_place_ = false;  ///< values can be read where they lie
  std::int64_t scratch_per_slot_ = 0;
  std::int64_t keys_per_slot_ = 0;
  std::int64_t shared_pairs_ = 0;         ///< the most heads whose keys lie in `shared_heads_`
  PackedHeads slot_heads_;                ///< one head for each slot
  PackedHeads shared_heads_;              ///< all heads of a call, where several tasks read each
  std::vector<std::int64_t> first_keys_;  ///< in `shared_heads_`, of each sequence
  HeadPreparation preparation_;
  AlignedBuffer scratch_;
  std::int64_t room_per_slot_ = 0;
  AlignedBuffer room_;  ///< of layers with a second input: few rows may see many keys there; and
                        ///< of those whose values lie in keys
};

}  // namespace headroom::simd
