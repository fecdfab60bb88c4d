#include "attention/formulation.hpp"

#include <vector>

#include "core/side_by_side.hpp"
#include "core/text/names.hpp"

namespace headroom {
namespace {

constexpr Name<Formulation> kNames[] = {
    {Formulation::wrapper, "wrapper"},
    {Formulation::split, "split"},
    {Formulation::fused, "fused"},
};

// Query, key or value: its weights, and its head blocks.
struct Source {
  const ConstAnyMatrix& matrix;
  const ConstAnyMatrix& bias;
  std::int64_t first_block;
  std::int64_t width;  // of a block
};

void append(ProductSpec& spec, const Source& source, std::int64_t first_col, std::int64_t cols) {
  spec.weights.push_back(source.matrix.columns(first_col, cols));
  if (source.bias.rows > 0) spec.biases.push_back(source.bias.columns(first_col, cols));
}

}  // namespace

std::string_view to_string(Formulation formulation) { return name_of(kNames, formulation); }

std::optional<Formulation> parse_formulation(std::string_view name) {
  return value_of(kNames, name);
}

PlannedProducts plan_products(Formulation formulation, const Case& shape,
                              const WeightViews& weights) {
  const std::int64_t heads = shape.heads;
  const std::int64_t key_heads = shape.key_heads();
  const std::int64_t head_dim = shape.head_dim();
  const Source query{weights.query, weights.query_bias, 0, head_dim};
  const Source key{weights.key, weights.key_bias, heads, head_dim};
  const Source value{weights.value, weights.value_bias, heads + key_heads, shape.head_value_dim()};
  PlannedProducts plan;
  std::vector<PlannedProduct>& of_keys = shape.d_memory > 0 ? plan.of_memory : plan.of_x;
  const bool per_head = formulation == Formulation::wrapper;
  const auto add_heads = [&](std::vector<PlannedProduct>& to, const Source& source,
                             std::int64_t count) {
    to.push_back({{{}, {}, source.width, per_head}, source.first_block, count});
    const std::int64_t heads_of_matrix = per_head ? 1 : count;
    for (std::int64_t head = 0; head < count; head += heads_of_matrix) {
      append(to.back().spec, source, head * source.width, heads_of_matrix * source.width);
    }
  };
  switch (formulation) {
    case Formulation::wrapper:
    case Formulation::split:
      add_heads(plan.of_x, query, heads);
      add_heads(of_keys, key, key_heads);
      add_heads(of_keys, value, key_heads);
      break;
    case Formulation::fused: {
      add_heads(plan.of_x, query, heads);
      if (shape.d_memory > 0) {
        add_heads(of_keys, key, key_heads);
      } else {
        append(of_keys.back().spec, key, 0, shape.kv_width());
        of_keys.back().blocks += key_heads;
      }
      append(of_keys.back().spec, value, 0, shape.value_width());
      of_keys.back().blocks += key_heads;
      // Blocks of two widths are rows of one: all heads of a token.
      if (shape.head_value_dim() != head_dim) {
        ProductSpec& spec = of_keys.back().spec;
        spec.block_cols = total_cols(spec.weights);
      }
      break;
    }
  }
  return plan;
}

}  // namespace headroom
