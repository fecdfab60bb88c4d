#include "attention/formulation.hpp"

#include <array>
#include <utility>

namespace headroom {
namespace {

constexpr std::array<std::pair<Formulation, std::string_view>, 3> kNames{{
    {Formulation::wrapper, "wrapper"},
    {Formulation::split, "split"},
    {Formulation::fused, "fused"},
}};

// Query, key and value in the order of the head blocks.
struct Source {
  const Matrix* matrix;
  const std::vector<float>* bias;
};

std::array<Source, 3> sources(const SplitWeights& w) {
  return {{{&w.query, &w.query_bias}, {&w.key, &w.key_bias}, {&w.value, &w.value_bias}}};
}

void append(ProductSpec& spec, const Source& source, std::int64_t first_col, std::int64_t cols) {
  const Matrix& m = *source.matrix;
  spec.weights.push_back({m.values.data() + first_col, m.rows, cols, m.cols});
  if (!source.bias->empty()) spec.biases.push_back(source.bias->data() + first_col);
}

}  // namespace

std::string_view to_string(Formulation formulation) {
  for (const auto& [value, name] : kNames) {
    if (value == formulation) return name;
  }
  return "unknown";
}

std::optional<Formulation> parse_formulation(std::string_view name) {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::vector<PlannedProduct> plan_products(Formulation formulation, const Shape& shape,
                                          const SplitWeights& weights) {
  const std::int64_t heads = shape.heads;
  const std::array<Source, 3> qkv = sources(weights);
  std::vector<PlannedProduct> plan;
  const auto start = [&](std::int64_t first_block, std::int64_t blocks) -> ProductSpec& {
    plan.push_back({{{}, {}, shape.head_dim()}, first_block, blocks});
    return plan.back().spec;
  };
  switch (formulation) {
    case Formulation::wrapper:  // head by head, like the textbook's list of heads
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t m = 0; m < 3; ++m) {
          append(start(m * heads + h, 1), qkv[static_cast<std::size_t>(m)], h * shape.head_dim(),
                 shape.head_dim());
        }
      }
      break;
    case Formulation::split:
      for (std::int64_t m = 0; m < 3; ++m) {
        append(start(m * heads, heads), qkv[static_cast<std::size_t>(m)], 0, shape.d_out);
      }
      break;
    case Formulation::fused: {
      ProductSpec& spec = start(0, 3 * heads);
      for (const Source& source : qkv) append(spec, source, 0, shape.d_out);
      break;
    }
  }
  return plan;
}

}  // namespace headroom
