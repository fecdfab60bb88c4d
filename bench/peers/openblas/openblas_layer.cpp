#include "openblas_layer.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "softmax.hpp"

namespace headroom::peers {
namespace {

blasint as_blas(std::int64_t value) { return static_cast<blasint>(value); }

// y = x W + beta y. A single row is a product of a matrix and a vector, which has a call of its
// own.
void product(ConstMatrixView x, const float* weight, std::int64_t weight_stride, std::int64_t cols,
             float* y, std::int64_t y_stride, float beta) {
  if (x.rows == 1) {
    cblas_sgemv(CblasRowMajor, CblasTrans, as_blas(x.cols), as_blas(cols), 1, weight,
                as_blas(weight_stride), x.data, 1, beta, y, 1);
    return;
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, as_blas(x.rows), as_blas(cols),
              as_blas(x.cols), 1, x.data, as_blas(x.row_stride), weight, as_blas(weight_stride),
              beta, y, as_blas(y_stride));
}

// For the calls that follow. On OpenMP, OpenBLAS itself sees when it is called within a team.
void use_blas_threads(int threads) {
  if (openblas_get_num_threads() != threads) openblas_set_num_threads(threads);
}

std::vector<float> side_by_side(const SplitWeights& weights, std::int64_t rows, std::int64_t cols) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows * 3 * cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const Matrix* part : {&weights.query, &weights.key, &weights.value}) {
      const float* from = part->values.data() + row * cols;
      values.insert(values.end(), from, from + cols);
    }
  }
  return values;
}

}  // namespace

std::string name_of(const Composition& how) {
  constexpr const char* kNames[] = {"products", "heads", "all"};
  return fmt::format("{}-{}-{}", to_string(how.formulation),
                     kNames[static_cast<std::size_t>(how.sharing)], how.score_rows);
}

PreparedWeights prepare_weights(const Shape& shape, Formulation formulation,
                                const SplitWeights& weights) {
  PreparedWeights prepared{{}, weights.output, weights.output_bias};
  switch (formulation) {
    case Formulation::fused: {
      Matrix& fused = prepared.inward.emplace_back();
      fused.rows = shape.d_in;
      fused.cols = 3 * shape.d_out;
      fused.values = side_by_side(weights, shape.d_in, shape.d_out);
      break;
    }
    case Formulation::split:
      prepared.inward = {weights.query, weights.key, weights.value};
      break;
    case Formulation::wrapper:
      for (HeadWeights& head : to_per_head(shape, weights).heads) {
        prepared.inward.push_back(std::move(head.query));
        prepared.inward.push_back(std::move(head.key));
        prepared.inward.push_back(std::move(head.value));
      }
      break;
  }
  return prepared;
}

OpenBlasLayer::OpenBlasLayer(const Shape& shape, const Composition& how,
                             std::shared_ptr<const PreparedWeights> weights)
    : shape_(shape), how_(how), weights_(std::move(weights)) {
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  projected_.resize(size(shape_.rows() * 3 * shape_.d_out));
  context_.resize(size(shape_.rows() * shape_.d_out));
  scores_.resize(size(how_.threads * how_.score_rows * shape_.tokens));
}

void OpenBlasLayer::pass(ConstMatrixView x, MatrixView y) {
  use_blas_threads(how_.sharing == Sharing::all ? 1 : how_.threads);
  project_inward(x);
  if (how_.sharing == Sharing::heads) use_blas_threads(1);
  attend();
  if (how_.sharing == Sharing::heads) use_blas_threads(how_.threads);
  // The bias is there already when the product is added to it.
  for (std::int64_t row = 0; row < y.rows; ++row) {
    std::copy(weights_->output_bias.begin(), weights_->output_bias.end(),
              y.data + row * y.row_stride);
  }
  project({context_.data(), shape_.rows(), shape_.d_out, shape_.d_out}, weights_->output, y.data,
          y.row_stride, 1);
}

void OpenBlasLayer::project_inward(ConstMatrixView x) {
  const std::int64_t width = shape_.d_out, part = shape_.rows() * width;
  if (how_.formulation == Formulation::fused) {
    project(x, weights_->inward.front(), projected_.data(), 3 * width, 0);
    return;
  }
  if (how_.formulation == Formulation::split) {
    for (std::int64_t i = 0; i < 3; ++i) {
      project(x, weights_->inward[static_cast<std::size_t>(i)], projected_.data() + i * part, width,
              0);
    }
    return;
  }
  const auto head_dim = shape_.head_dim();
  const auto count = static_cast<std::int64_t>(weights_->inward.size());
  const int team = how_.sharing == Sharing::all ? how_.threads : 1;
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    const Matrix& weight = weights_->inward[static_cast<std::size_t>(i)];
    product(x, weight.values.data(), head_dim, head_dim,
            projected_.data() + i % 3 * part + i / 3 * head_dim, width, 0);
  }
}

// y = x W + beta y, shared out along the longer side if that is up to us.
void OpenBlasLayer::project(ConstMatrixView x, const Matrix& weight, float* to, std::int64_t stride,
                            float beta) const {
  if (how_.sharing != Sharing::all || how_.threads == 1) {
    product(x, weight.values.data(), weight.cols, weight.cols, to, stride, beta);
    return;
  }
  const bool by_rows = x.rows >= weight.cols;
  const std::int64_t length = by_rows ? x.rows : weight.cols;
#pragma omp parallel num_threads(how_.threads)
  {
    // Whole cache lines of the output for each thread.
    const std::int64_t team = omp_get_num_threads(), own = omp_get_thread_num();
    const std::int64_t step = (length + team - 1) / team, each = (step + 15) / 16 * 16;
    const std::int64_t begin = std::min(length, own * each), end = std::min(length, begin + each);
    if (begin < end && by_rows) {
      product(x.slice(begin, end - begin), weight.values.data(), weight.cols, weight.cols,
              to + begin * stride, stride, beta);
    } else if (begin < end) {
      product(x, weight.values.data() + begin, weight.cols, end - begin, to + begin, stride, beta);
    }
  }
}

OpenBlasLayer::Heads OpenBlasLayer::heads() const {
  const std::int64_t width = shape_.d_out, part = shape_.rows() * width;
  const float* first = projected_.data();
  if (how_.formulation == Formulation::fused) {
    return {first, first + width, first + 2 * width, 3 * width};
  }
  return {first, first + part, first + 2 * part, width};
}

void OpenBlasLayer::attend() {
  const Heads all = heads();
  const std::int64_t count = shape_.batch * shape_.heads;
  const int team = how_.sharing == Sharing::products ? 1 : how_.threads;
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = i / shape_.heads * shape_.tokens;
    const std::int64_t column = i % shape_.heads * shape_.head_dim();
    const std::int64_t offset = row * all.stride + column;
    float* scores = scores_.data() + omp_get_thread_num() * how_.score_rows * shape_.tokens;
    attend_head({all.query + offset, all.key + offset, all.value + offset, all.stride}, scores,
                context_.data() + row * shape_.d_out + column);
  }
}

// A block of rows at a time, with no key beyond its last row: half of the products of whole
// matrices.
void OpenBlasLayer::attend_head(const Heads& head, float* scores, float* context) const {
  const blasint stride = as_blas(head.stride), wide = as_blas(shape_.head_dim());
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape_.head_dim())));
  for (std::int64_t first = 0; first < shape_.tokens; first += how_.score_rows) {
    const std::int64_t rows = std::min(how_.score_rows, shape_.tokens - first);
    const std::int64_t keys = first + rows;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, as_blas(rows), as_blas(keys), wide, scale,
                head.query + first * head.stride, stride, head.key, stride, 0, scores,
                as_blas(keys));
    softmax_rows(scores, keys, rows, first, keys);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, as_blas(rows), wide, as_blas(keys), 1,
                scores, as_blas(keys), head.value, stride, 0, context + first * shape_.d_out,
                as_blas(shape_.d_out));
  }
}

}  // namespace headroom::peers
