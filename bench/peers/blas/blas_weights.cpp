#include "blas_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

namespace headroom::peers {
namespace {

constexpr std::size_t kCacheLine = 64;
// MKL asks for some 5 to 20 MB beside each matrix, however small: beyond this the many of a wrapper
// are not worth their memory.
constexpr std::size_t kMostBeside = std::size_t{2} << 30;

Weight as_weight(const Matrix& matrix) { return {matrix.rows, matrix.cols, matrix.values, {}}; }

Weight side_by_side(const SplitWeights& weights, std::int64_t rows, std::int64_t cols) {
  Weight weight{rows, 3 * cols, {}, {}};
  weight.plain.reserve(static_cast<std::size_t>(rows * 3 * cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const Matrix* part : {&weights.query, &weights.key, &weights.value}) {
      const float* from = part->values.data() + row * cols;
      weight.plain.insert(weight.plain.end(), from, from + cols);
    }
  }
  return weight;
}

Product product_of(const Weight& weight, const Part& part) {
  Product product;
  product.rows = part.rows;
  product.cols = part.cols;
  product.depth = weight.depth;
  if (!weight.plain.empty()) product.b = weight.plain.data() + part.first_col;
  product.b_stride = weight.cols;
  return product;
}

std::shared_ptr<float> packed_part(const Blas& blas, const Product& product) {
  const std::size_t lines = blas.packed_bytes(product) / kCacheLine + 1;
  auto* memory = static_cast<float*>(std::aligned_alloc(kCacheLine, lines * kCacheLine));
  if (memory == nullptr) throw std::bad_alloc();
  std::shared_ptr<float> owner(memory, std::free);
  blas.pack(product, memory);
  return owner;
}

Weight pack_weight(const Blas& blas, const Weight& plain, std::int64_t rows, int team) {
  Weight weight{plain.depth, plain.cols, {}, {}};
  for (int own = 0; own < team; ++own) {
    const Part part = part_of(rows, plain.cols, team, own);
    const Part before = part_of(rows, plain.cols, team, std::max(0, own - 1));
    const bool same = own > 0 && part.rows == before.rows && part.first_col == before.first_col &&
                      part.cols == before.cols;
    weight.packed.push_back(part.empty() ? nullptr
                            : same       ? weight.packed.back()
                                         : packed_part(blas, product_of(plain, part)));
  }
  return weight;
}

void refuse_excess(const Blas& blas, const std::vector<Weight>& weights, std::int64_t rows) {
  std::size_t own = 0, packed = 0;
  for (const Weight& weight : weights) {
    own += weight.plain.size() * sizeof(float);
    packed += blas.packed_bytes(product_of(weight, {0, rows, 0, weight.cols}));
  }
  if (packed > own + kMostBeside) {
    throw std::runtime_error(fmt::format("packed, {} matrices of {:.1f} GB take {:.1f} GB",
                                         weights.size(), 1e-9 * static_cast<double>(own),
                                         1e-9 * static_cast<double>(packed)));
  }
}

}  // namespace

Part part_of(std::int64_t rows, std::int64_t cols, std::int64_t team, std::int64_t own) {
  const bool by_rows = rows >= cols;
  const std::int64_t length = by_rows ? rows : cols;
  const std::int64_t step = (length + team - 1) / team, each = (step + 15) / 16 * 16;
  const std::int64_t begin = std::min(length, own * each);
  const std::int64_t count = std::min(length, begin + each) - begin;
  return by_rows ? Part{begin, count, 0, cols} : Part{0, rows, begin, count};
}

PreparedWeights prepare_weights(const LayerConfig& config, Formulation formulation,
                                const SplitWeights& weights) {
  PreparedWeights prepared{{}, as_weight(weights.output), weights.output_bias};
  switch (formulation) {
    case Formulation::fused:
      prepared.inward.push_back(side_by_side(weights, config.d_in, config.d_out));
      break;
    case Formulation::split:
      prepared.inward = {as_weight(weights.query), as_weight(weights.key),
                         as_weight(weights.value)};
      break;
    case Formulation::wrapper:
      for (const HeadWeights& head : to_per_head(config, weights).heads) {
        for (const Matrix* matrix : {&head.query, &head.key, &head.value}) {
          prepared.inward.push_back(as_weight(*matrix));
        }
      }
      break;
  }
  return prepared;
}

PreparedWeights pack_weights(const Blas& blas, const PreparedWeights& plain,
                             Formulation formulation, std::int64_t rows, int team) {
  refuse_excess(blas, plain.inward, rows);
  PreparedWeights prepared{{}, pack_weight(blas, plain.output, rows, team), plain.output_bias};
  const int inward_team = formulation == Formulation::wrapper ? 1 : team;
  for (const Weight& weight : plain.inward) {
    prepared.inward.push_back(pack_weight(blas, weight, rows, inward_team));
  }
  return prepared;
}

void multiply_part(const Blas& blas, ConstMatrixView x, const Weight& weight, const Part& part,
                   std::int64_t own, MatrixView y, float beta) {
  if (part.empty()) return;
  Product product = product_of(weight, part);
  product.a = x.data + part.first_row * x.row_stride;
  product.a_stride = x.row_stride;
  product.c = y.data + part.first_row * y.row_stride + part.first_col;
  product.c_stride = y.row_stride;
  product.beta = beta;
  if (!weight.packed.empty()) {
    product.b = weight.packed[static_cast<std::size_t>(own)].get();
    blas.multiply_packed(product);
  } else if (part.rows == 1) {
    blas.multiply_row(product);
  } else {
    blas.multiply(product);
  }
}

}  // namespace headroom::peers
