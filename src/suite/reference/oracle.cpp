#include "reference/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "headroom/error.hpp"
#include "reference/element_bound.hpp"
#include "reference/layer.hpp"
#include "reference/oracle_cost.hpp"

// Two orders of evaluation, direct and factored (layer.hpp), give the same numbers up to rounding
// in double, but the factored one's bound is wider. So the direct one is taken wherever it is not
// much work.

namespace headroom::reference {

namespace {

void finish(const Layer& layer, const MergedRow& merged, std::size_t at, Expected& expected) {
  double* y = expected.y.data() + at * index(expected.width);
  double* bound = expected.bound.data() + at * index(expected.width);
  if (layer.shape.d_proj == 0) {
    std::copy(merged.context.begin(), merged.context.end(), y);
    std::copy(merged.bound.begin(), merged.bound.end(), bound);
  } else {
    const std::vector<float>& bias = layer.weights.output_bias;
    const double factor = bound_factors(layer.shape, 0).output;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      y[c] = static_cast<double>(bias[c]);
      bound[c] = factor * term<kMagnitudes>(1, bias[c]);
    }
    const Block<float> output = columns(layer.weights.output, 0, layer.shape.d_proj);
    add_product<kSigned>(merged.context.data(), output, y);
    add_product<kMagnitudes>(merged.bound.data(), output, bound);
  }
  for (std::int64_t c = 0; c < expected.width; ++c) bound[c] *= kFloatEpsilon;
}

// The errors of a context, as an operand of the output projection.
Doubles operand_bound(const Layer& layer, const MergedRow& merged) {
  Doubles bound = merged.bound;
  if (layer.operands != Precision::int8) return bound;
  const Doubles sizes = group_sizes(merged.context.data(), merged.context.size());
  const double rounding = operand_rounding(layer.operands) / kFloatEpsilon;
  for (std::size_t c = 0; c < bound.size(); ++c) bound[c] += rounding * sizes[c];
  return bound;
}

// See 4 of coarse_bound.hpp.
void finish_coarse(const Layer& layer, const MergedRow& merged, std::size_t at,
                   Expected& expected) {
  double* bound = expected.bound.data() + at * index(expected.width);
  if (layer.shape.d_proj == 0) {
    std::copy(merged.bound.begin(), merged.bound.end(), bound);
  } else {
    const std::int64_t value_dim = layer.shape.head_value_dim();
    const Doubles operands = operand_bound(layer, merged);
    Doubles of_head(index(expected.width));
    for (std::int64_t first = 0; first < layer.shape.context_width(); first += value_dim) {
      std::fill(of_head.begin(), of_head.end(), 0.0);
      const Matrix& output = layer.weights.output;
      const Block<float> rows{output.view().row(first), value_dim, output.cols, output.cols};
      add_product<kMagnitudes>(operands.data() + first, rows, of_head.data());
      for (std::size_t c = 0; c < of_head.size(); ++c) bound[c] += of_head[c] * of_head[c];
    }
    for (std::int64_t c = 0; c < expected.width; ++c) bound[c] = std::sqrt(bound[c]);
  }
  for (std::int64_t c = 0; c < expected.width; ++c) bound[c] *= kFloatEpsilon;
}

void finish_row(const Layer& layer, const MergedRow& merged, std::size_t at, Expected& expected) {
  if (layer.operands == Precision::f32) {
    finish(layer, merged, at, expected);
  } else {
    finish_coarse(layer, merged, at, expected);
  }
}

// With heads of 64 as many rows as are affordable have fewer; these are 64 MiB.
constexpr std::int64_t kMostWeights = std::int64_t{1} << 24;

// Where a row leaves its attention weights; nowhere if they were not asked for.
class WeightsOf {
 public:
  WeightsOf(const Layer& layer, std::size_t row, Expected& expected)
      : layer_(layer), row_(row), expected_(expected) {
    const std::int64_t all = static_cast<std::int64_t>(expected.attention_weights.size()) *
                             layer.shape.heads * layer.shape.context();
    const std::size_t every = index(std::max<std::int64_t>(1, all / kMostWeights));
    wanted_ = row < expected.attention_weights.size() && row % every == 0;
  }

  RowTrace* trace() { return wanted_ ? &trace_ : nullptr; }

  void keep() {
    if (!wanted_) return;
    std::vector<float>& kept = expected_.attention_weights[row_];
    for (const Doubles& weights : trace_.weights) {
      for (const double weight : weights) kept.push_back(static_cast<float>(weight));
      if (!layer_.shape.sinks) continue;
      const double seen = std::accumulate(weights.begin(), weights.end(), 0.0);
      kept.push_back(static_cast<float>(std::max(0.0, 1 - seen)));
    }
  }

 private:
  const Layer& layer_;
  std::size_t row_;
  Expected& expected_;
  RowTrace trace_;
  bool wanted_ = false;
};

void run_direct(const Layer& layer, Expected& expected) {
  const std::int64_t group = group_sequences(layer.shape);
  const std::span<const std::int64_t> rows(expected.rows);
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::int64_t first = layer.sequences.of(rows[begin]) / group * group;
    const std::int64_t count = std::min(group, layer.shape.batch - first);
    const auto end = static_cast<std::size_t>(
        std::lower_bound(rows.begin(), rows.end(), layer.sequences.first(first + count)) -
        rows.begin());
    const DirectOrder order(layer, first, count);
    parallel_for(layer.threads, static_cast<std::int64_t>(end - begin), [&](std::int64_t i) {
      const std::size_t at = begin + index(i);
      WeightsOf weights(layer, at, expected);
      finish_row(layer, order.attend(rows[at], weights.trace()), at, expected);
      weights.keep();
    });
    begin = end;
  }
}

// Threads share the rows, or the heads of each row where there are fewer rows than threads.
void run_factored(const Layer& layer, Expected& expected) {
  const auto count = static_cast<std::int64_t>(expected.rows.size());
  const bool share_rows = count >= layer.threads;
  parallel_for(share_rows ? layer.threads : 1, count, [&](std::int64_t i) {
    WeightsOf weights(layer, index(i), expected);
    const MergedRow merged = attend_factored(layer, expected.rows[index(i)],
                                             share_rows ? 1 : layer.threads, weights.trace());
    finish_row(layer, merged, index(i), expected);
    weights.keep();
  });
}

void run_all(const Layer& layer, Expected& expected) {
  if (layer.inputs.rounds_cache || takes_direct_order(layer.shape, expected.rows)) {
    run_direct(layer, expected);
  } else {
    run_factored(layer, expected);
  }
}

struct NeededInput {
  std::string_view name;
  std::int64_t rows;
  std::int64_t cols;
};

void check_input(const Case& shape, ConstMatrixView input, const NeededInput& needed) {
  if (needed.rows == 0 && input.rows == 0) return;
  if (input.rows == needed.rows && input.cols == needed.cols && input.row_stride >= input.cols &&
      input.data != nullptr) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "oracle: {} is {} x {} with row stride {}; shape {} needs {} x {} and a stride of {} or more",
      needed.name, input.rows, input.cols, input.row_stride, shape.id(), needed.rows, needed.cols,
      needed.cols));
}

void check_inputs(const Case& shape, const Inputs& inputs) {
  if (!shape.has_projections()) {
    const std::int64_t keys = shape.batch * shape.context();
    check_input(shape, inputs.x, {"x", shape.rows(), shape.d_out});
    check_input(shape, inputs.key, {"key", keys, shape.kv_width()});
    check_input(shape, inputs.value, {"value", keys, shape.kv_width()});
    return;
  }
  check_input(shape, inputs.x, {"x", shape.rows(), shape.d_in});
  check_input(shape, inputs.past, {"past", shape.batch * shape.past, shape.key_input()});
  check_input(shape, inputs.memory, {"memory", shape.memory_rows(), shape.d_memory});
}

void check_request(const Case& shape, const Inputs& inputs, const std::vector<std::int64_t>& rows) {
  check_inputs(shape, inputs);
  std::int64_t least = 0;
  for (const std::int64_t row : rows) {
    if (row < least || row >= shape.rows()) {
      throw InvalidArgument(
          fmt::format("oracle: row {} was asked for; allowed are rows from {} to below {}, each "
                      "once and in ascending order",
                      row, least, shape.rows()));
    }
    least = row + 1;
  }
}

}  // namespace

Expected attention(const Case& shape, const SplitWeights& weights, const Inputs& inputs,
                   const std::vector<std::int64_t>& rows, int threads, Keep keep) {
  if (shape.has_projections()) check_weights(shape, weights);
  check_request(shape, inputs, rows);
  Expected expected;
  expected.rows = rows;
  expected.width = shape.output_width();
  expected.y.resize(rows.size() * index(expected.width));
  expected.bound.resize(expected.y.size());
  if (keep == Keep::attention_weights) expected.attention_weights.resize(rows.size());
  if (rows.empty()) return expected;
  run_all({shape, weights, inputs, threads}, expected);
  return expected;
}

void add_coarse_bound(const Case& shape, const SplitWeights& weights, const Inputs& inputs,
                      Precision operands, int threads, Expected& expected) {
  Expected coarse;
  coarse.rows = expected.rows;
  coarse.width = expected.width;
  coarse.bound.resize(expected.y.size());
  if (!coarse.rows.empty()) run_all({shape, weights, inputs, threads, operands}, coarse);
  for (std::size_t i = 0; i < coarse.bound.size(); ++i) {
    coarse.bound[i] += expected.bound[i] + operand_rounding(operands) * std::abs(expected.y[i]);
  }
  expected.coarse_bounds[operands] = std::move(coarse.bound);
}

Expected attention(const Case& shape, const SplitWeights& weights, ConstMatrixView x,
                   const std::vector<std::int64_t>& rows, int threads) {
  return attention(shape, weights, Inputs{.x = x}, rows, threads);
}

}  // namespace headroom::reference
