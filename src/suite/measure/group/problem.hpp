// What a shape is checked and timed with.
#pragma once

#include <cstdint>
#include <optional>

#include "core/case.hpp"
#include "headroom/precision.hpp"
#include "headroom/weights.hpp"
#include "reference/attention_shift.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"

namespace headroom::measure {

/// The inputs of a shape and the result expected from a layer.
struct Problem {
  Case shape;
  SplitWeights weights;
  Matrix x;
  reference::Expected expected;
  reference::Data data = reference::Data::standard;  ///< which limits apply
  Matrix past = {};    ///< inputs of the tokens that came before, sequence by sequence
  Matrix memory = {};  ///< the second input, if the shape has one
  /// Where the shape has no projections: keys and values, `batch * context()` rows of `kv_width()`;
  /// x is the queries.
  Matrix key = {}, value = {};
  /// How far that result is from what unrounded weights and inputs give, `|o - r| / |r|`; empty
  /// where nothing was rounded.
  std::optional<double> storage_error = {};
  /// Likewise what that moved within the attention weights, see `reference::attention_shift`.
  std::optional<reference::AttentionShift> attention_shift = {};
  bool rounds_cache = false;  ///< keys and values are those of a cache of q8

  bool all_rows_checked() const {
    return static_cast<std::int64_t>(expected.rows.size()) == shape.rows();
  }
};

}  // namespace headroom::measure
