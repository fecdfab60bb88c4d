#include "reference/latents.hpp"

#include "reference/layer.hpp"
#include "reference/steps/norm.hpp"

namespace headroom::reference {
namespace {

// A row of x times the matrix of a latent, before its norm and after it.
void add_latent(const Layer& layer, const float* token, const Matrix& down,
                const std::vector<float>& norm, Doubles& before, Doubles& after) {
  Sized latent(down.cols);
  apply(layer, token, down, {}, latent.values.data(), latent.sizes.data());
  before.insert(before.end(), latent.values.begin(), latent.values.end());
  normalise_latent(layer.shape.latent.epsilon, norm, latent.values.data(), latent.sizes.data());
  after.insert(after.end(), latent.values.begin(), latent.values.end());
}

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Columns of a head's own keys or values.
Block<float> of_head(const Matrix& matrix, std::int64_t head, std::int64_t width) {
  return columns(matrix, head * width, width);
}

// `row W^T`.
void add_transposed(const double* row, const Block<float>& matrix, double* out) {
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    const float* line = matrix.data + r * matrix.stride;
    for (std::int64_t c = 0; c < matrix.cols; ++c) out[r] += row[c] * static_cast<double>(line[c]);
  }
}

}  // namespace

Latents latents(const Case& shape, const SplitWeights& weights, ConstMatrixView x) {
  Latents all;
  const Inputs inputs{.x = x};
  const Layer layer{shape, weights, inputs, 1};
  for (std::int64_t row = 0; row < x.rows; ++row) {
    add_latent(layer, x.row(row), weights.key_down, weights.key_down_norm, all.key, all.normed_key);
    if (shape.latent.query_rank == 0) continue;
    add_latent(layer, x.row(row), weights.query_down, weights.query_down_norm, all.query,
               all.normed_query);
  }
  return all;
}

AbsorbedRow absorbed_row(const Case& shape, const SplitWeights& weights, const Intermediates& seen,
                         const Latents& latents, std::int64_t row) {
  const std::int64_t rank = shape.latent.rank, own = shape.own_key_dim(), heads = shape.heads;
  const std::int64_t value = shape.head_value_dim(), tokens = shape.tokens;
  const std::int64_t first = row / tokens * tokens;  // of its sequence
  AbsorbedRow result{Doubles(index(heads * rank)), Doubles(index(tokens * heads)),
                     Doubles(index(tokens * heads)), Doubles(index(heads * rank)),
                     Doubles(index(heads * value))};
  for (std::int64_t h = 0; h < heads; ++h) {
    const double* q = seen.query.data() + row * shape.d_out + h * shape.head_dim();
    double* query = result.query.data() + h * rank;
    double* sum = result.latent.data() + h * rank;
    add_transposed(q, of_head(weights.key, h, own), query);
    const std::int64_t line = ((row / tokens * heads + h) * tokens + row % tokens) * tokens;
    for (std::int64_t j = 0; j < tokens; ++j) {
      const double* key = seen.key.data() + (first + j) * shape.kv_width() + h * shape.head_dim();
      const double* latent = latents.normed_key.data() + (first + j) * shape.latent_width();
      result.expanded_scores[index(j * heads + h)] = dot(q, key, own);
      result.scores[index(j * heads + h)] = dot(query, latent, rank);
      for (std::int64_t c = 0; c < rank; ++c) sum[c] += seen.dropped[index(line + j)] * latent[c];
    }
    add_product<kSigned>(sum, of_head(weights.value, h, value), result.context.data() + h * value);
  }
  return result;
}

}  // namespace headroom::reference
