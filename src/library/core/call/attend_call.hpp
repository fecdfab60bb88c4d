// What one call of `attend` is about: views, sequences, and what earlier calls left.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

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
  std::int64_t past = 0;          ///< keys in the store before the call
  std::int64_t pattern_head = 0;  ///< of its first head, as `dropout_row` takes it

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
};

/// The views of all sequences. Of a layer with rotary positions, `q` and `k` are turned in place.
/// All are of floats, but for a `HeadAttention` that takes others.
struct AttendCall {
  AnyBlockedView q;     ///< one block per head
  AnyBlockedView k, v;  ///< one block per key head
  AnyBlockedView out;   ///< as q; no overlap with the others
  std::span<const Sequence> sequences;
  KeyValueStore* store = nullptr;  ///< new keys are appended here; null: there are no others
  bool any_order = false;          ///< sums may have another order than those of other calls
  double scale = 0;                ///< of scores, above 0; 0: `1 / sqrt(head_dim)`
  ScoreMask mask = {};             ///< its sequences by their number; a row that sees no key is 0
};

/// What scores are multiplied by.
inline double score_scale(const AttendCall& call, std::int64_t head_dim) {
  return call.scale > 0 ? call.scale : 1 / std::sqrt(static_cast<double>(head_dim));
}

}  // namespace headroom
