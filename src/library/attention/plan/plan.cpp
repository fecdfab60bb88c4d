#include "attention/plan/plan.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "attention/choice.hpp"
#include "attention/expected_bytes.hpp"
#include "attention/views.hpp"
#include "core/arena.hpp"
#include "core/element/numbers_of.hpp"
#include "core/element/read_matrix.hpp"
#include "headroom/error.hpp"

namespace headroom {

Attention::Plan::Plan(const Case& largest, const WeightViews& weights,
                      const AttentionOptions& wanted_options)
    : shape((largest.validate(), largest)),
      id(next_cache_owner()),
      sequences_(shape, wanted_options.heads_of),
      angles_(shape) {
  const auto start = std::chrono::steady_clock::now();
  check_weights(shape, weights);
  choice = choose_backend(shape, shape, wanted_options);
  options = resolve(wanted_options, choice);
  if (options.weights_dtype) check_stored(weights);
  if (options.cache_dtype) check_cache_storage();
  if (!shape.is_latent()) products_ = plan_products(choice.formulation, shape, weights);
  const Target target{*options.isa, *options.unit};
  const Arithmetic does =
      arithmetic_of(choice.backend, numbers_of(options, choice.precision), target);
  const ArenaScope arena(
      expected_bytes(shape, products_, backend_facts(choice.backend), does, options.threads));
  backend_ = make_backend(options, choice);
  make_buffers();
  if (shape.is_latent()) {
    make_latent(weights);
  } else {
    prepare(products_.of_x, shape.rows(), project_);
    costs.project_provenance = project_->costs().provenance;
  }
  if (shape.d_memory > 0) prepare(products_.of_memory, shape.memory_rows(), project_memory_);
  costs.packs_heads_together = choice.formulation == Formulation::wrapper &&
                               backend_facts(choice.backend).packs_heads_together;
  destinations_.resize(std::max(products_.of_x.size(), products_.of_memory.size()));
  keep_parameters(weights);
  attend_ = backend_->make_attention(shape);
  add_costs(attend_->costs());
  costs.attend_provenance = attend_->costs().provenance;
  if (shape.d_proj == 0 && options.dtype == Dtype::bf16 && !attend_->takes_bf16()) {
    y_data_ = AlignedBuffer(shape.rows() * shape.context_width());
    costs.workspace_bytes += y_data_.bytes();
  }
  if (shape.d_proj > 0) make_output(weights);
  costs.setup_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Attention::Plan::prepare(const std::vector<PlannedProduct>& products, std::int64_t rows,
                              std::unique_ptr<Projection>& projection) {
  ProjectionSpec spec{rows, {}, options.dtype == Dtype::bf16, options.weights_dtype};
  for (const PlannedProduct& product : products) spec.products.push_back(product.spec);
  projection = backend_->make_projection(spec);
  add_costs(projection->costs());
}

// A padded call's rows are brought together in the context's memory, which is free until then, and
// its results lie in that of query, key and value, which is free by then.
void Attention::Plan::make_buffers() {
  const std::int64_t rows = shape.rows();
  const std::int64_t key_rows = shape.d_memory > 0 ? shape.memory_rows() : rows;
  const std::int64_t qkv = rows * shape.d_out + key_rows * (shape.kv_width() + shape.value_width());
  qkv_data_ = AlignedBuffer(std::max(qkv, rows * shape.d_proj));
  const std::int64_t context_width = shape.d_proj > 0 ? shape.context_width() : 0;
  context_data_ = AlignedBuffer(rows * std::max(context_width, shape.d_in));
  costs.workspace_bytes = qkv_data_.bytes() + context_data_.bytes() + angles_.bytes();
}

void Attention::Plan::make_latent(const WeightViews& weights) {
  latent_ =
      std::make_unique<LatentHeads>(*backend_, choice.formulation, shape, weights, options.dtype);
  steps_ = std::make_unique<LatentSteps>(*backend_, shape, weights);
  add_costs(latent_->costs());
  add_costs(steps_->costs());
  costs.project_provenance = latent_->costs().provenance;
}

void Attention::Plan::make_output(const WeightViews& weights) {
  ProductSpec product{{weights.output}, {}, shape.d_proj};
  if (weights.output_bias.rows > 0) product.biases = {weights.output_bias};
  output_ =
      backend_->make_projection({shape.rows(), {std::move(product)}, false, options.weights_dtype});
  add_costs(output_->costs());
}

void Attention::Plan::keep_parameters(const WeightViews& weights) {
  const auto keep = [](const ConstAnyMatrix& from, std::vector<float>& to) -> const float* {
    if (from.rows == 0) return nullptr;
    to.resize(static_cast<std::size_t>(from.cols));
    read_matrix(from, {to.data(), 1, from.cols, from.cols});
    return to.data();
  };
  parameters_.query_norm = keep(weights.query_norm, query_norm_);
  parameters_.key_norm = keep(weights.key_norm, key_norm_);
  parameters_.sinks = keep(weights.sinks, sinks_);
  distances_ = DistanceTable(shape, weights.position_bias);
  distances_.reach(shape.tokens);
  costs.workspace_bytes += distances_.bytes();
  if (shape.gate) make_gate(weights);
  if (shape.norm.over != QueryKeyNorm::Over::width) return;
  query_factors_.resize(static_cast<std::size_t>(shape.rows()));
  key_factors_.resize(
      static_cast<std::size_t>(shape.d_memory > 0 ? shape.memory_rows() : shape.rows()));
  parameters_.query_factors = query_factors_.data();
  parameters_.key_factors = key_factors_.data();
}

void Attention::Plan::make_gate(const WeightViews& weights) {
  ProductSpec product{{weights.gate}, {}, shape.context_width()};
  gate_ = backend_->make_projection(
      {shape.rows(), {std::move(product)}, options.dtype == Dtype::bf16, options.weights_dtype});
  gate_data_ = AlignedBuffer(shape.rows() * shape.context_width());
  add_costs(gate_->costs());
  costs.workspace_bytes += gate_data_.bytes();
}

void Attention::Plan::add_costs(const OperationCosts& part) {
  costs.packed_bytes += part.packed_bytes;
  costs.workspace_bytes += part.workspace_bytes;
}

std::unique_ptr<KeyValueStore> Attention::Plan::make_store(const CacheSize& size) {
  distances_.reach(size.capacity);
  if (steps_) return headroom::make_store(steps_->attention(), steps_->shape(), size);
  return headroom::make_store(*attend_, shape, size);
}

}  // namespace headroom
