// The double-precision reference that every result is checked against. Plain loops, no backend.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/case.hpp"
#include "headroom/precision.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"
#include "reference/inputs.hpp"

namespace headroom::reference {

/// The expected values of some rows of `y`, and how close a result in float must be.
struct Expected {
  std::vector<std::int64_t> rows;  ///< which of the call's `rows()`, ascending
  std::int64_t width = 0;          ///< columns of `y`
  std::vector<double> y;           ///< `rows x width`
  std::vector<double> bound;  ///< largest allowed error of each in float, see element_bound.hpp
  /// The same for operands of fewer bits, by their `limit_class`; see `add_coarse_bound`.
  std::map<Precision, std::vector<double>> coarse_bounds = {};
  /// If asked for, of each row and of each of its heads in turn: the attention weights of the keys
  /// that it sees, before dropout, and of the sink if there is one. Of many small heads only some
  /// rows have them, evenly apart.
  std::vector<std::vector<float>> attention_weights = {};
};

/// Whether `attention` keeps its weights.
enum class Keep { result, attention_weights };

/// Every row of the shape.
std::vector<std::int64_t> all_rows(const Case& shape);

/// Computes the rows on up to `threads` threads. Weights are applied in the order that costs least
/// for the number of rows, so that a few rows of a very large layer stay affordable. A row that
/// sees no key, because a second input is empty, has a context of zeros.
/// @param weights not looked at where the shape has no projections
Expected attention(const Case& shape, const SplitWeights& weights, const Inputs& inputs,
                   const std::vector<std::int64_t>& rows, int threads, Keep keep = Keep::result);

/// The same for a call of x alone.
Expected attention(const Case& shape, const SplitWeights& weights, ConstMatrixView x,
                   const std::vector<std::int64_t>& rows, int threads);

/// Adds the bound for results whose operands are as coarse as a class of limits other than f32
/// (coarse_bound.hpp) to what is expected. Costs as much as `attention`, so it is for adversarial
/// data only.
void add_coarse_bound(const Case& shape, const SplitWeights& weights, const Inputs& inputs,
                      Precision operands, int threads, Expected& expected);

}  // namespace headroom::reference
