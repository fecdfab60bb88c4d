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
  const auto add_heads = [&](std::vector<PlannedProduct>& to, const Source& source,
                             std::int64_t first, std::int64_t count) {
    to.push_back({{{}, {}, source.width}, source.first_block + first, count});
    append(to.back().spec, source, first * source.width, count * source.width);
  };
  switch (formulation) {
    case Formulation::wrapper: {  // head by head, like the textbook's list of heads
      const std::int64_t group = heads / key_heads;
      for (std::int64_t k = 0; k < key_heads; ++k) {
        for (std::int64_t h = k * group; h < (k + 1) * group; ++h) {
          add_heads(plan.of_x, query, h, 1);
        }
        add_heads(of_keys, key, k, 1);
        add_heads(of_keys, value, k, 1);
      }
      break;
    }
    case Formulation::split:
      add_heads(plan.of_x, query, 0, heads);
      add_heads(of_keys, key, 0, key_heads);
      add_heads(of_keys, value, 0, key_heads);
      break;
    case Formulation::fused: {
      add_heads(plan.of_x, query, 0, heads);
      if (shape.d_memory > 0) {
        add_heads(of_keys, key, 0, key_heads);
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
