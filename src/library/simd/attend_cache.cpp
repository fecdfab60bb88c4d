// The stores of keys and values, and what differs where these have eight bits.
#include <algorithm>
#include <cstring>

#include "core/rounding.hpp"
#include "simd/attend.hpp"

namespace headroom::simd {

void PackedStore::copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
                       std::int64_t tokens) {
  const auto& other = static_cast<const PackedStore&>(from);
  const bool rounds = rounded.bytes() > 0;
  const std::int64_t count = round_up(tokens, rounds ? kCacheBlock : panel);
  for (std::int64_t head = 0; head < key_heads; ++head) {
    const std::int64_t to = (sequence * key_heads + head) * capacity;
    const std::int64_t at = (of * key_heads + head) * other.capacity;
    if (rounds) {
      rounded.copy(to, other.rounded, at, count);
      heads.copy(to / capacity * kCacheBlock, other.heads, at / other.capacity * kCacheBlock,
                 kCacheBlock);
    } else if (row_bytes == 0) {
      heads.copy(to, other.heads, at, count);
    } else {
      std::memcpy(reinterpret_cast<char*>(rows.data()) + to * row_bytes,
                  reinterpret_cast<const char*>(other.rows.data()) + at * row_bytes,
                  static_cast<std::size_t>(tokens * row_bytes));
    }
  }
}

std::unique_ptr<PackedStore> StreamingAttention::make_store(const Executor& executor,
                                                            std::int64_t sequences,
                                                            std::int64_t capacity) const {
  auto store = std::make_unique<PackedStore>();
  store->capacity = round_up(capacity, rounds_ ? kCacheBlock : panel_);
  store->key_heads = shape_.key_heads();
  store->panel = panel_;
  const std::int64_t pairs = sequences * shape_.key_heads();
  if (shape_.values_in_keys()) {
    store->rows = stored_buffer(dtype_, pairs * store->capacity * shape_.head_dim());
    store->row_bytes = bytes_of(dtype_, shape_.head_dim());
  } else {
    const std::int64_t keys = rounds_ ? kCacheBlock : store->capacity;
    store->heads = PackedHeads(*kernels_, dtype_, shape_.head_dim(), shape_.head_value_dim(),
                               pairs * keys, !rounds_);
    if (rounds_) {
      store->rounded = RoundedHeads(*kernels_, order_, shape_.head_dim(), shape_.head_value_dim(),
                                    pairs * store->capacity);
    }
    auto zero = [&](std::int64_t pair, int) {
      store->heads.zero(pair * keys, keys);
      if (rounds_) store->rounded.zero(pair * store->capacity, store->capacity);
    };
    executor.run(pairs, zero);
  }
  store->preparation = HeadPreparation(shape_, capacity, kernels_->normalise_rows);
  // Threads share the segments of a head only where heads are few.
  if (executor.slots() > 1 && capacity > kSegment) {
    store->states =
        AlignedBuffer(std::min(pairs, kManyHeads * executor.slots()) * states_of_head(capacity));
  }
  return store;
}

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
void StreamingAttention::append_rounded(const Run& run, const Sequence& sequence,
                                        std::int64_t key_head, const Place& head) const {
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
  rounded.round_values(head.rounded, sequence.past, sequence.new_keys,
                       {call.v.at(sequence.first_key, key_head), call.v.dtype, call.v.row_stride});
}

}  // namespace headroom::simd
