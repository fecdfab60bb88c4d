// What differs where keys and values are stored in eight bits.
#include <algorithm>

#include "core/rounding.hpp"
#include "simd/attend.hpp"

namespace headroom::simd {

// Of a head in memory that tasks share.
std::int64_t StreamingAttention::packed_keys(const Sequence& sequence) const {
  if (!rounds_) return round_up(sequence.new_keys, panel_);
  return round_up(sequence.keys() - cache_block(sequence.past), kCacheBlock);
}

// A step's key joins the last block where it is kept. What begins another block is packed apart,
// behind a copy of the last one.
StreamingAttention::Place StreamingAttention::place_rounded(const Run& run, std::int64_t pair,
                                                            int slot) {
  const std::int64_t key_heads = shape_.key_heads();
  const auto index = static_cast<std::size_t>(pair / key_heads);
  const Sequence& sequence = run.call.sequences[index];
  const std::int64_t head = pair % key_heads;
  const std::int64_t apart =
      run.shared ? first_keys_[index] + head * packed_keys(sequence) : slot * keys_per_slot_;
  Place place;
  place.fresh_begin = cache_block(sequence.past);
  PackedHeads& floats = run.shared ? shared_heads_ : slot_heads_;
  if (run.store == nullptr) {
    place.keys = floats.head(apart).keys;
    place.rounded = (run.shared ? shared_rounded_ : slot_rounded_).head(apart);
    return place;
  }
  const std::int64_t of_store = sequence.number * key_heads + head;
  const bool one_block = sequence.keys() - place.fresh_begin <= kCacheBlock;
  place.keys =
      one_block ? run.store->heads.head(of_store * kCacheBlock).keys : floats.head(apart).keys;
  place.rounded = run.store->rounded.head(of_store * run.store->capacity);
  return place;
}

// Full blocks are rounded, and the one that is not full stays in the store.
// @param row see RoundedHeads::round_values
void StreamingAttention::append_rounded(const Run& run, const Sequence& sequence,
                                        std::int64_t key_head, const Place& head,
                                        float* row) const {
  const AttendCall& call = run.call;
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t before = sequence.past - head.fresh_begin;
  auto* fresh = static_cast<float*>(head.keys);
  float* last = fresh;
  if (run.store != nullptr) {
    const std::int64_t of_store = sequence.number * shape_.key_heads() + key_head;
    last = static_cast<float*>(run.store->heads.head(of_store * kCacheBlock).keys);
  }
  if (last != fresh && before > 0) std::copy_n(last, kCacheBlock * head_dim, fresh);
  kernels_->f32.pack_keys(
      {call.k.at(sequence.first_key, key_head), call.k.dtype, call.k.row_stride}, before,
      sequence.new_keys, head_dim, fresh);
  const RoundedHeads& rounded = run.store != nullptr ? run.store->rounded : slot_rounded_;
  const std::int64_t packed = before + sequence.new_keys;
  std::int64_t key = 0;
  for (; key + kCacheBlock <= packed; key += kCacheBlock) {
    rounded.round_keys(head.rounded, head.fresh_begin + key, fresh + key * head_dim);
  }
  if (last != fresh && key < packed) {
    std::copy_n(fresh + key * head_dim, kCacheBlock * head_dim, last);
  }
  rounded.round_values(head.rounded, sequence.past, sequence.new_keys, call.v, sequence.first_key,
                       key_head, row);
}

}  // namespace headroom::simd
