#include "headroom/attention.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "attention/choice.hpp"
#include "attention/expected_bytes.hpp"
#include "attention/formulation.hpp"
#include "attention/views.hpp"
#include "backends/backend.hpp"
#include "core/aligned_buffer.hpp"
#include "core/arena.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

AttentionOptions resolve(const AttentionOptions& options, const Choice& choice,
                         const BackendInfo& backend) {
  AttentionOptions resolved = options;
  resolved.backend = choice.backend;
  resolved.formulation = choice.formulation;
  const int threads = wanted_threads(options);
  resolved.threads = backend.threaded ? threads : 1;
  resolved.isa = select_isa(options.isa);
  return resolved;
}

// Where query, key and value lie between the two operations: 3 H blocks, each of one head. `whole`
// is only valid where they form one view.
struct HeadBlocks {
  BlockedView whole;
  std::array<BlockedView, 3> parts;

  BlockedView slice(const PlannedProduct& product, std::int64_t heads) const {
    if (product.blocks > heads) return whole;
    const auto part = static_cast<std::size_t>(product.first_block / heads);
    return parts[part].slice(product.first_block % heads, product.blocks);
  }
};

// Token-major matrices are separate, each without gaps, unless one product writes all three.
HeadBlocks head_blocks(HeadLayout layout, bool one_product, const Shape& shape, float* data) {
  const std::int64_t rows = shape.rows();
  const std::int64_t heads = shape.heads;
  const std::int64_t head_dim = shape.head_dim();
  HeadBlocks blocks;
  if (layout == HeadLayout::head_major) {
    blocks.whole = {data, rows, head_dim, 3 * heads, head_dim, rows * head_dim};
  } else if (one_product) {
    blocks.whole = {data, rows, 3 * shape.d_out, 3 * heads, head_dim, head_dim};
  } else {
    for (std::int64_t i = 0; i < 3; ++i) {
      blocks.parts[static_cast<std::size_t>(i)] = {
          data + i * rows * shape.d_out, rows, shape.d_out, heads, head_dim, head_dim};
    }
    return blocks;
  }
  for (std::int64_t i = 0; i < 3; ++i) {
    blocks.parts[static_cast<std::size_t>(i)] = blocks.whole.slice(i * heads, heads);
  }
  return blocks;
}

}  // namespace

class Attention::Plan {
 public:
  Plan(const Shape& wanted, const SplitWeights& weights, const AttentionOptions& wanted_options);

  void forward(ConstMatrixView x, MatrixView y, PhaseTimes* times);

  Shape shape;
  AttentionOptions options;
  Choice choice;
  AttentionCosts costs;

 private:
  void make_output(const SplitWeights& weights);
  void add_costs(const OperationCosts& part);
  void run(ConstMatrixView x, MatrixView y, PhaseTimes* times);

  std::unique_ptr<Backend> backend_;
  AlignedBuffer qkv_data_;
  AlignedBuffer context_data_;
  HeadBlocks qkv_;
  std::unique_ptr<Projection> project_;
  std::vector<BlockedView> destinations_;  ///< one per product of `project_`
  std::unique_ptr<HeadAttention> attend_;
  std::unique_ptr<Projection> output_;
};

Attention::Plan::Plan(const Shape& wanted, const SplitWeights& weights,
                      const AttentionOptions& wanted_options)
    : shape(wanted) {
  const Clock::time_point start = Clock::now();
  shape.validate();
  check_weights(shape, weights);
  choice = choose_backend(shape, wanted_options);
  const BackendEntry& entry = backend_entry(choice.backend);
  options = resolve(wanted_options, choice, entry.describe());
  const std::vector<PlannedProduct> products = plan_products(choice.formulation, shape, weights);
  const ArenaScope arena(expected_bytes(shape, products, entry.facts(), options.threads));
  backend_ = entry.make({options.threads, *options.isa, choice.kernels});
  const KernelChoice kernels = backend_->kernels();
  choice.kernels = kernels.name;
  if (!kernels.reason.empty()) choice.kernels_reason = kernels.reason;
  qkv_data_ = AlignedBuffer(shape.rows() * 3 * shape.d_out);
  qkv_ = head_blocks(backend_->head_layout(), choice.formulation == Formulation::fused, shape,
                     qkv_data_.data());
  costs.workspace_bytes = qkv_data_.bytes();

  ProjectionSpec projection{shape.rows(), {}};
  for (const PlannedProduct& product : products) {
    projection.products.push_back(product.spec);
    destinations_.push_back(qkv_.slice(product, shape.heads));
  }
  project_ = backend_->make_projection(projection);
  add_costs(project_->costs());
  costs.project_provenance = project_->costs().provenance;
  attend_ = backend_->make_attention(shape);
  add_costs(attend_->costs());
  costs.attend_provenance = attend_->costs().provenance;
  if (shape.d_proj > 0) make_output(weights);
  costs.setup_seconds = seconds_between(start, Clock::now());
}

void Attention::Plan::make_output(const SplitWeights& weights) {
  context_data_ = AlignedBuffer(shape.rows() * shape.d_out);
  costs.workspace_bytes += context_data_.bytes();
  ProductSpec product{{weights.output.view()}, {}, shape.d_proj};
  if (!weights.output_bias.empty()) product.biases = {weights.output_bias.data()};
  output_ = backend_->make_projection({shape.rows(), {std::move(product)}});
  add_costs(output_->costs());
}

void Attention::Plan::add_costs(const OperationCosts& part) {
  costs.packed_bytes += part.packed_bytes;
  costs.workspace_bytes += part.workspace_bytes;
}

void Attention::Plan::forward(ConstMatrixView x, MatrixView y, PhaseTimes* times) {
  check_views(x, y, {shape.rows(), shape.d_in, shape.output_width()});
  if (shape.rows() > 0) run(x, y, times);
}

void Attention::Plan::run(ConstMatrixView x, MatrixView y, PhaseTimes* times) {
  const Clock::time_point start = Clock::now();
  project_->run(x, destinations_);
  const Clock::time_point projected = Clock::now();

  const std::int64_t heads = shape.heads;
  const std::int64_t head_dim = shape.head_dim();
  float* context = output_ ? context_data_.data() : y.data;
  const std::int64_t context_stride = output_ ? shape.d_out : y.row_stride;
  attend_->run(qkv_.parts[0], qkv_.parts[1], qkv_.parts[2],
               {context, shape.rows(), context_stride, heads, head_dim, head_dim});
  const Clock::time_point attended = Clock::now();

  if (output_) {
    output_->run({context, shape.rows(), shape.d_out, shape.d_out},
                 BlockedView{y.data, y.rows, y.row_stride, 1, shape.d_proj, 0});
  }
  if (times != nullptr) {
    times->qkv = seconds_between(start, projected);
    times->attend = seconds_between(projected, attended);
    times->output = seconds_between(attended, Clock::now());
  }
}

Attention::Attention(const Shape& shape, const SplitWeights& weights,
                     const AttentionOptions& options)
    : plan_(std::make_unique<Plan>(shape, weights, options)) {}
Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;

void Attention::forward(ConstMatrixView x, MatrixView y) { plan_->forward(x, y, nullptr); }

void Attention::forward(ConstMatrixView x, MatrixView y, PhaseTimes& times) {
  times = {};
  plan_->forward(x, y, &times);
}

const Shape& Attention::shape() const { return plan_->shape; }
const AttentionOptions& Attention::options() const { return plan_->options; }
const Choice& Attention::choice() const { return plan_->choice; }
const AttentionCosts& Attention::costs() const { return plan_->costs; }

Attention make_attention(std::string_view backend, const Shape& shape, const SplitWeights& weights,
                         AttentionOptions options) {
  options.backend = backend;
  return {shape, weights, options};
}

}  // namespace headroom
