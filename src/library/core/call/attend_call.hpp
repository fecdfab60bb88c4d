// What one call of `attend` is about: views, sequences, and what earlier calls left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/call/key_range.hpp"
#include "core/call/score_mask.hpp"
#include "core/case.hpp"
#include "core/head_view.hpp"

namespace headroom {

/// One sequence of a call. Positions count from the sequence's first token.
struct Sequence {
  std::int64_t number = 0;     ///< its place in the call, and in a store
  std::int64_t first_row = 0;  ///< its rows in q
  std::int64_t first_out = 0;  ///< the same rows in out
  std::int64_t rows = 0;
  std::int64_t position = 0;   ///< of its first row
  std::int64_t first_key = 0;  ///< its new rows in k and v
  std::int64_t new_keys = 0;
  std::int64_t past = 0;           ///< keys in the store before the call
  std::int64_t pattern_head = 0;   ///< of its first head, as `dropout_row` takes it
  std::int64_t places_before = 0;  ///< of padding, which temperatures count
  std::int64_t first_angle = 0;    ///< its rows, or new keys, in `AttendCall::angles`
  std::int64_t mask_row = 0;       ///< its first row in the call's mask
  std::int64_t mask_key = 0;       ///< its first key there

  std::int64_t keys() const { return past + new_keys; }
};

/// Those of a shape without a past or a second input, one after the other.
inline std::vector<Sequence> sequences_of(const Case& shape) {
  std::vector<Sequence> sequences;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < shape.batch; ++i) {
    const std::int64_t rows = shape.length(i);
    sequences.push_back({i, first, first, rows, 0, first, rows, 0, i * shape.heads});
    first += rows;
  }
  return sequences;
}

/// Keys and values that a backend keeps between calls, in its own layout.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual std::int64_t bytes() const = 0;
  /// Writes what the first tokens of a sequence of another store left there over those of
  /// `sequence`.
  /// @param from of the same maker; both have room for so many tokens
  virtual void copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
                    std::int64_t tokens) = 0;
};

/// What heads have beside their rows; null where the layer has none.
struct HeadParameters {
  /// Weights of norms: `head_dim` for all heads, or one for each value of a row.
  const float *query_norm = nullptr, *key_norm = nullptr;
  /// Of norms over the width: `1 / sqrt(mean(x^2) + epsilon)` of each row of q and of k.
  const float *query_factors = nullptr, *key_factors = nullptr;
  const float* sinks = nullptr;  ///< one for each query head
};

/// The views of all sequences. Norms and rotary positions are applied to `q` and `k` in place.
/// All are of floats, but for a `HeadAttention` that takes others.
struct AttendCall {
  AnyBlockedView q;     ///< one block per head
  AnyBlockedView k, v;  ///< one block per key head
  AnyBlockedView out;   ///< as q; no overlap with the others
  std::span<const Sequence> sequences;
  KeyValueStore* store = nullptr;  ///< new keys are appended here; null: there are no others
  bool any_order = false;          ///< sums may have another order than those of other calls
  HeadParameters parameters = {};
  ScoreMask mask = {};  ///< its sequences by their number; a row that sees no key is 0
  /// What `RotaryAngles` writes for each row of the call; null: positions are places.
  const float* angles = nullptr;

  /// That of a sequence, whose first head is this one.
  ScoreMask mask_of(const Sequence& sequence, std::int64_t head) const {
    return mask.from(sequence.number, head, sequence.mask_row, sequence.mask_key,
                     sequence.position);
  }
};

/// Of a layer, which hides keys by their positions.
inline MaskRule mask_rule(const LayerConfig& config) {
  return {config.causal, config.window, config.chunk};
}

}  // namespace headroom
