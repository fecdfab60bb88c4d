#include "attention/latent/latent_heads.hpp"

#include <algorithm>
#include <utility>

#include "core/call/preparation.hpp"
#include "core/element/read_matrix.hpp"
#include "core/side_by_side.hpp"

namespace headroom {
namespace {

std::vector<float> row_of(const ConstAnyMatrix& from) {
  std::vector<float> row(static_cast<std::size_t>(from.cols));
  if (from.rows > 0) read_matrix(from, {row.data(), 1, from.cols, from.cols});
  return row;
}

// Of the first values of each row, as many as there are weights. By one thread: it is a thousandth
// of the products.
void normalise(const BlockedView& rows, const std::vector<float>& weights, double epsilon) {
  const auto count = static_cast<std::int64_t>(weights.size());
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    float* row = rows.at(r, 0);
    const float factor = inverse_rms(sum_of_squares(row, count), count, epsilon);
    for (std::int64_t i = 0; i < count; ++i) {
      row[i] = row[i] * factor * weights[static_cast<std::size_t>(i)];
    }
  }
}

OperationCosts& operator+=(OperationCosts& sum, const OperationCosts& more) {
  sum.packed_bytes += more.packed_bytes;
  sum.workspace_bytes += more.workspace_bytes;
  return sum;
}

}  // namespace

void LatentProducts::add(const ConstAnyMatrix& weights, std::int64_t cols, std::int64_t block_cols,
                         bool per_head) {
  ProductSpec product{{}, {}, block_cols, per_head};
  const std::int64_t step = per_head ? block_cols : cols;
  for (std::int64_t col = 0; col < cols; col += step) {
    product.weights.push_back(weights.columns(col, step));
  }
  spec.products.push_back(std::move(product));
}

LatentHeads::LatentHeads(Backend& backend, Formulation formulation, const Case& shape,
                         const WeightViews& weights, Dtype dtype)
    : shape_(shape),
      formulation_(formulation),
      head_major_(backend.head_layout() == HeadLayout::head_major),
      query_norm_(row_of(weights.query_down_norm)),
      key_norm_(row_of(weights.key_down_norm)) {
  plan_down(weights);
  plan_keys(weights);
  const bool rounds = dtype == Dtype::bf16;
  make(backend, rounds, of_x_);
  if (shape.latent.query_rank > 0) {
    plan_queries(weights, of_query_latent_);
    make(backend, false, of_query_latent_);
  }
  make(backend, false, of_latent_);
  const std::int64_t beside = together() && shape.latent.query_rank == 0 ? shape.d_out : 0;
  down_ = AlignedBuffer(shape.rows() * (shape.latent.query_rank + beside + shape.latent_width()));
}

// Both latents by one product, if products are fused; without a latent of queries, these themselves
// in its place.
void LatentHeads::plan_down(const WeightViews& weights) {
  const std::int64_t width = shape_.latent_width();
  if (shape_.latent.query_rank > 0) {
    of_x_.add(weights.query_down, shape_.latent.query_rank, shape_.latent.query_rank);
  } else {
    plan_queries(weights, of_x_);
  }
  if (!together()) return of_x_.add(weights.key_down, width, width);
  ProductSpec& spec = of_x_.spec.products.front();
  spec.weights.push_back(weights.key_down);
  spec.block_cols = total_cols(spec.weights);
}

void LatentHeads::plan_queries(const WeightViews& weights, LatentProducts& products) const {
  products.add(weights.query, shape_.d_out, shape_.head_dim(), per_head());
}

// Fused, a head's value stands before its key, whose own values come first: one block.
void LatentHeads::plan_keys(const WeightViews& weights) {
  const std::int64_t own = shape_.own_key_dim();
  const std::int64_t value = shape_.head_value_dim();
  if (!together()) {
    of_latent_.add(weights.key, shape_.own_key_width(), own, per_head());
    of_latent_.add(weights.value, shape_.value_width(), value, per_head());
    return;
  }
  ProductSpec spec{{}, {}, value + own};
  for (std::int64_t h = 0; h < shape_.heads; ++h) {
    spec.weights.push_back(weights.value.columns(h * value, value));
    spec.weights.push_back(weights.key.columns(h * own, own));
  }
  of_latent_.spec.products.push_back(std::move(spec));
}

void LatentHeads::make(Backend& backend, bool rounds, LatentProducts& products) const {
  products.spec.rows = shape_.rows();
  products.spec.rounds_input = rounds;
  products.projection = backend.make_projection(products.spec);
  products.to.resize(products.spec.products.size());
  products.spec.products.clear();  // the views of the weights are not valid any more
}

void LatentHeads::place(std::int64_t rows, float* room) {
  const Latent& latent = shape_.latent;
  const std::int64_t heads = shape_.heads, head_dim = shape_.head_dim();
  const std::int64_t value_dim = shape_.head_value_dim();
  const auto blocks = [&](float* data, std::int64_t cols) -> BlockedView {
    if (head_major_) return {data, rows, cols, heads, cols, rows * cols};
    return {data, rows, heads * cols, heads, cols, cols};
  };
  const std::int64_t beside = latent.query_rank > 0 ? latent.query_rank : shape_.d_out;
  const bool one = together();
  const std::int64_t width = shape_.latent_width();
  float* down = down_.data();
  heads_ = {{blocks(room, head_dim)}, heads, heads};
  if (latent.query_rank > 0) {
    query_latents_ = {down, rows, one ? beside + width : beside, 1, beside, 0};
  } else if (one) {
    heads_.parts[0] = {down, rows, beside + width, heads, head_dim, head_dim};
  }
  const bool apart = latent.query_rank == 0 && !one;
  latents_ = {down + (apart ? 0 : one ? beside : rows * beside),
              rows,
              one ? beside + width : width,
              1,
              width,
              0};
  room += rows * shape_.d_out;
  if (one) {
    const std::int64_t both = value_dim + head_dim;
    heads_.parts[2] = {room, rows, heads * both, heads, value_dim, both};
    heads_.parts[1] = {room + value_dim, rows, heads * both, heads, head_dim, both};
    return;
  }
  heads_.parts[1] = blocks(room, head_dim);
  heads_.parts[2] = blocks(room + rows * shape_.kv_width(), value_dim);
}

void LatentHeads::write_keys_to() {
  BlockedView keys = heads_.parts[1];
  keys.block_cols = shape_.own_key_dim();
  const BlockedView& values = heads_.parts[2];
  std::vector<AnyBlockedView>& to = of_latent_.to;
  if (together()) {
    to[0] = values;
    to[0].block_cols += keys.block_cols;
  } else {
    to[0] = keys;
    to[1] = values;
  }
}

void LatentHeads::project(const ConstAnyMatrix& x, float* room) {
  place(x.rows, room);
  if (x.rows == 0) return;
  const bool through = shape_.latent.query_rank > 0;
  if (together()) {
    float* row = down_.data();
    const std::int64_t width = latents_.row_stride;
    of_x_.to.front() = BlockedView{row, x.rows, width, 1, width, 0};
  } else {
    of_x_.to.front() = through ? query_latents_ : heads_.parts[0];
    of_x_.to.back() = latents_;
  }
  of_x_.projection->run(x, of_x_.to);
  normalise(latents_, key_norm_, shape_.latent.epsilon);
  if (!through) return;
  normalise(query_latents_, query_norm_, shape_.latent.epsilon);
  of_query_latent_.to.front() = heads_.parts[0];
  of_query_latent_.projection->run(
      ConstMatrixView{query_latents_.data, x.rows, query_latents_.block_cols,
                      query_latents_.row_stride},
      of_query_latent_.to);
}

void LatentHeads::expand() {
  if (latents_.rows == 0) return;
  write_keys_to();
  of_latent_.projection->run(
      ConstMatrixView{latents_.data, latents_.rows, shape_.latent.rank, latents_.row_stride},
      of_latent_.to);
  const std::int64_t own = shape_.own_key_dim();
  for (std::int64_t row = 0; row < latents_.rows; ++row) {
    const float* shared = latents_.at(row, 0) + shape_.latent.rank;
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      std::copy_n(shared, shape_.latent.shared, heads_.parts[1].at(row, h) + own);
    }
  }
}

OperationCosts LatentHeads::costs() const {
  OperationCosts sum = of_x_.projection->costs();
  if (of_query_latent_.projection) sum += of_query_latent_.projection->costs();
  sum += of_latent_.projection->costs();
  sum.workspace_bytes += down_.bytes();
  return sum;
}

}  // namespace headroom
