// Streaming attention over an executor: where keys lie, and which heads, tiles and segments become
// tasks.
#pragma once

#include <memory>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "core/call/attend_call.hpp"
#include "core/call/preparation.hpp"
#include "core/case.hpp"
#include "core/executor.hpp"
#include "headroom/dropout.hpp"
#include "headroom/storage.hpp"
#include "simd/kernel_table.hpp"
#include "simd/packed_heads.hpp"
#include "simd/rounded_heads.hpp"
#include "simd/tiles/tile_products.hpp"

namespace headroom::simd {

/// Keys and values of earlier calls, packed.
struct PackedStore final : public KeyValueStore {
  std::int64_t capacity = 0;  ///< keys of a head, whole panels
  std::int64_t key_heads = 0;
  std::int64_t panel = 0;      ///< keys of one
  PackedHeads heads;           ///< of all sequences, `key_heads` each
  RoundedHeads rounded;        ///< in eight bits; then `heads` has the last block of keys alone
  AlignedBuffer rows;          ///< in their place, keys as they come, where values lie in them
  std::int64_t row_bytes = 0;  ///< of one of these; 0: there are none
  HeadPreparation preparation;
  AlignedBuffer states;  ///< of the segments that threads share
  std::int64_t bytes() const override {
    return heads.bytes() + rounded.bytes() + rows.bytes() + preparation.bytes() + states.bytes();
  }
  void copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
            std::int64_t tokens) override;
};

/// From this many heads per slot on, a slot that idles at the end while another works on its last
/// head loses little.
inline constexpr std::int64_t kManyHeads = 8;

class StreamingAttention {
 public:
  /// @param tiles for sequences of many rows of queries, if there are any
  /// @param stored what keys and values are stored as: f32, bf16 or q8
  /// @param shape the layer, and the largest call
  /// @param bytes what multiplies the bytes of q8; null: floats are made of them
  StreamingAttention(const KernelTable& kernels, const TileChoice& tiles, Storage stored,
                     const Case& shape, const Executor& executor, AttendPrefetches prefetches = {},
                     const RoundedKernels* bytes = nullptr);

  std::unique_ptr<PackedStore> make_store(const Executor& executor, std::int64_t sequences,
                                          std::int64_t capacity) const;

  /// @param store of this object, or null; the call's own is not looked at
  void run(const Executor& executor, const AttendCall& call, PackedStore* store);

  /// Whether tiles compute the largest call.
  bool by_tiles() const { return tiles_.attends(shape_.tokens * group_); }
  std::int64_t workspace_bytes() const {
    return slot_heads_.bytes() + shared_heads_.bytes() + slot_rounded_.bytes() +
           shared_rounded_.bytes() + preparation_.bytes() + scratch_.bytes() + room_.bytes() +
           states_.bytes();
  }

 private:
  /// One call, with what all its tasks need.
  struct Run {
    const AttendCall& call;
    PackedStore* store;
    std::int64_t pairs;  ///< of a sequence and a key head
    double seconds;      ///< of all on one thread, about
    std::int64_t rows;   ///< the most of a sequence
    bool shared;         ///< several tasks read the keys of a head
  };
  /// Where the keys and values of a head lie.
  struct Place : PackedHeads::Head {
    RoundedHeads::Head rounded;    ///< of those in eight bits; then `keys` are floats
    std::int64_t fresh_begin = 0;  ///< position of their first, and there are no `values`
  };

  void make_heads(const Executor& executor, std::int64_t tokens, std::int64_t all_tokens);
  Place place(const Run& run, std::int64_t pair, int slot);
  Place place_rounded(const Run& run, std::int64_t pair, int slot);
  std::int64_t packed_keys(const Sequence& sequence) const;
  const Sequence& sequence_of(const Run& run, std::int64_t pair) const;
  void prepare(const Run& run, std::int64_t pair) const;
  void append(const Run& run, std::int64_t pair, const Place& head);
  bool cuts_rows(const Run& run, std::int64_t pair) const;
  InputRows append_cut(const Run& run, std::int64_t pair, Place& head) const;
  void append_rounded(const Run& run, const Sequence& sequence, std::int64_t key_head,
                      const Place& head) const;
  AttendTask task_of(const Run& run, std::int64_t pair, const Place& head, int slot);
  void add_mask(AttendTask& task, const ScoreMask& mask) const;
  void change_scores(AttendTask& task) const;
  std::int64_t tile_height(std::int64_t rows) const;
  std::int64_t tiles_per_task(std::int64_t rows) const;
  void attend(AttendTask& task, const InputRows& key_rows = {}, void* panels = nullptr) const;
  bool reads_in_place(const Run& run) const;
  AttendTask task_in_place(const Run& run, std::int64_t pair, int slot);
  void attend_in_place(AttendTask& task) const;
  void run_in_place(const Executor& executor, const Run& run);
  void run_whole_heads(const Executor& executor, const Run& run);
  void run_tiles(const Executor& executor, const Run& run);
  void run_segments(const Executor& executor, const Run& run);
  KeyRange seen_segments(const Run& run) const;
  template <class TaskFor>
  void merge_states(const Executor& executor, const Run& run, const TaskFor& task_for) const;
  bool shares_segments(const Run& run) const;
  std::int64_t tiles_of_step() const;
  std::int64_t state_floats() const;
  std::int64_t states_of_head(std::int64_t capacity) const;
  double expected_seconds(std::span<const Sequence> sequences) const;

  const KernelTable* kernels_;
  TileChoice tiles_;
  Dtype dtype_;
  bool rounds_;  ///< keys and values are stored in eight bits
  const RoundedKernels* rounded_;
  CacheOrder order_;  ///< of these, what `rounded_` reads
  bool prefetches_;
  StreamAhead ahead_;
  Case shape_;
  DropoutPattern dropout_;
  std::int64_t group_ = 1;  ///< query heads of a key head
  std::int64_t panel_ = 0;  ///< keys per panel
  ScoreCap cap_;
  ScoreCap rule_cap_;      ///< in `kRuleUnit`
  bool in_place_ = false;  ///< values can be read where they lie
  std::int64_t scratch_per_slot_ = 0;
  std::int64_t keys_per_slot_ = 0;
  std::int64_t shared_pairs_ = 0;  ///< the most heads whose keys lie in `shared_heads_`
  PackedHeads slot_heads_;         ///< one head for each slot
  PackedHeads shared_heads_;       ///< all heads of a call, where several tasks read each
  RoundedHeads slot_rounded_, shared_rounded_;  ///< beside these, where there is no store
  std::vector<std::int64_t> first_keys_;        ///< in `shared_heads_`, of each sequence
  HeadPreparation preparation_;
  AlignedBuffer scratch_;
  std::int64_t room_per_slot_ = 0;
  AlignedBuffer room_;    ///< of layers with a second input: few rows may see many keys there; of
                          ///< those whose values lie in keys; and `rounded_room_floats`
  AlignedBuffer states_;  ///< of the segments of keys that are read where they lie
};

}  // namespace headroom::simd
