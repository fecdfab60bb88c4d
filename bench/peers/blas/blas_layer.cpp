#include "blas_layer.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "softmax.hpp"

namespace headroom::peers {
namespace {

// For the calls that follow. On OpenMP, a BLAS itself sees when it is called within a team.
void use_threads(const Blas& blas, int threads) {
  if (blas.threads() != threads) blas.set_threads(threads);
}

}  // namespace

std::string name_of(const Composition& how) {
  constexpr const char* kNames[] = {"products", "heads", "all"};
  return fmt::format("{}-{}-{}{}", to_string(how.formulation),
                     kNames[static_cast<std::size_t>(how.sharing)], how.score_rows,
                     how.packed ? "-packed" : "");
}

BlasLayer::BlasLayer(const Blas& blas, const LayerConfig& config, const CallSizes& call,
                     const Composition& how, std::shared_ptr<const PreparedWeights> weights)
    : blas_(blas), config_(config), call_(call), how_(how), weights_(std::move(weights)) {
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  projected_.resize(size(all_rows() * 3 * config_.d_out));
  context_.resize(size(all_rows() * config_.d_out));
  scores_.resize(size(how_.threads * how_.score_rows * call_.tokens));
}

void BlasLayer::pass(ConstMatrixView x, MatrixView y) {
  use_threads(blas_, how_.blas_threads());
  project_inward(x);
  if (how_.sharing == Sharing::heads) use_threads(blas_, 1);
  attend();
  if (how_.sharing == Sharing::heads) use_threads(blas_, how_.threads);
  // The bias is there already when the product is added to it.
  for (std::int64_t row = 0; row < y.rows; ++row) {
    std::copy(weights_->output_bias.begin(), weights_->output_bias.end(), y.row(row));
  }
  project({context_.data(), all_rows(), config_.d_out, config_.d_out}, weights_->output, y, 1);
}

void BlasLayer::project_inward(ConstMatrixView x) {
  if (how_.formulation == Formulation::wrapper) return project_heads(x);
  const auto rows = all_rows();
  float* to = projected_.data();
  for (const Weight& weight : weights_->inward) {
    project(x, weight, {to, rows, weight.cols, weight.cols}, 0);
    to += rows * weight.cols;
  }
}

// Query, key and value of each head, one narrow product each.
void BlasLayer::project_heads(ConstMatrixView x) {
  const std::int64_t width = config_.d_out, wide = config_.head_dim(), rows = all_rows();
  const auto count = static_cast<std::int64_t>(weights_->inward.size());
  const int team = how_.team();
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    float* to = projected_.data() + i % 3 * rows * width + i / 3 * wide;
    multiply_part(blas_, x, weights_->inward[static_cast<std::size_t>(i)], {0, rows, 0, wide}, 0,
                  {to, rows, wide, width}, 0);
  }
}

// y = x W + beta y, shared out along the longer side if that is up to us.
void BlasLayer::project(ConstMatrixView x, const Weight& weight, MatrixView y, float beta) const {
  const int team = how_.team();
#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
  for (std::int64_t own = 0; own < team; ++own) {
    multiply_part(blas_, x, weight, part_of(x.rows, weight.cols, team, own), own, y, beta);
  }
}

BlasLayer::Heads BlasLayer::heads() const {
  const std::int64_t width = config_.d_out, part = all_rows() * width;
  const float* first = projected_.data();
  if (how_.formulation == Formulation::fused) {
    return {first, first + width, first + 2 * width, 3 * width};
  }
  return {first, first + part, first + 2 * part, width};
}

void BlasLayer::attend() {
  const Heads all = heads();
  const std::int64_t count = call_.batch * config_.heads;
  const int team = how_.sharing == Sharing::products ? 1 : how_.threads;
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = i / config_.heads * call_.tokens;
    const std::int64_t column = i % config_.heads * config_.head_dim();
    const std::int64_t offset = row * all.stride + column;
    float* scores = scores_.data() + omp_get_thread_num() * how_.score_rows * call_.tokens;
    attend_head({all.query + offset, all.key + offset, all.value + offset, all.stride}, scores,
                context_.data() + row * config_.d_out + column);
  }
}

// A block of rows at a time, with no key beyond its last row: half of the products of whole
// matrices.
void BlasLayer::attend_head(const Heads& head, float* scores, float* context) const {
  const std::int64_t wide = config_.head_dim();
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(wide)));
  for (std::int64_t first = 0; first < call_.tokens; first += how_.score_rows) {
    const std::int64_t rows = std::min(how_.score_rows, call_.tokens - first);
    const std::int64_t keys = first + rows;
    Product product{rows,        keys,     wide,        head.query + first * head.stride,
                    head.stride, head.key, head.stride, scores,
                    keys,        scale};
    product.b_transposed = true;
    blas_.multiply(product);
    softmax_rows(scores, keys, rows, first, keys);
    blas_.multiply({rows, wide, keys, scores, keys, head.value, head.stride,
                    context + first * config_.d_out, config_.d_out});
  }
}

}  // namespace headroom::peers
