// `Y = X W`: rows from one to many, widths from one head to the largest model.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "backends/backend.hpp"
#include "core/arena.hpp"
#include "core/placed_matrix.hpp"
#include "headroom/initialise.hpp"
#include "kernels/rows.hpp"

namespace headroom::bench {
namespace {

struct Product {
  std::int64_t rows, cols, depth;
};

// A call that does almost nothing, one head of a wrapper, square layers of the models, and query,
// key and value in one product.
constexpr Product kProducts[] = {
    {1, 64, 16},         {16, 64, 16},       {1, 64, 768},      {16, 64, 768},
    {128, 64, 768},      {1024, 64, 768},    {1, 768, 768},     {16, 768, 768},
    {128, 768, 768},     {512, 768, 768},    {1024, 768, 768},  {2048, 768, 768},
    {1024, 2304, 768},   {512, 3072, 768},   {1024, 768, 3072}, {512, 1600, 1600},
    {512, 2048, 2048},   {1024, 2048, 2048}, {1, 4096, 4096},   {16, 4096, 4096},
    {512, 4096, 4096},   {1024, 4096, 4096}, {1024, 4096, 768}, {1024, 768, 4096},
    {1, 12288, 12288},   {16, 12288, 12288}, {16, 128, 12288},  {128, 128, 12288},
    {512, 12288, 12288},
};

Matrix gaussian(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Case shape;
  shape.tokens = rows;
  shape.d_in = shape.d_out = cols;
  return gaussian_input(shape.rows(), shape, seed);
}

// The error of a chain of `depth` roundings is up to about sqrt(depth) units of roundoff of the
// terms' magnitude (Higham and Mary, "A new approach to probabilistic rounding error analysis",
// 2019); one wrong term gives thousands. One part of two operands is off by 2^-8 of each term at
// most, two parts of each by about 2^-16.
double error_limit(Precision precision, const Product& p) {
  const double sum = 0x1p-24 * std::sqrt(static_cast<double>(p.depth));
  if (precision == Precision::bf16) return 0x1p-8 + sum;
  if (precision == Precision::bf16x3) return 0x1p-16 + sum;
  return sum;
}

// Compares some elements with a sum in double precision.
bool correct(const Product& p, double limit, ConstMatrixView x, const Matrix& w,
             ConstMatrixView y) {
  for (std::int64_t i = 0; i < 64; ++i) {
    const std::int64_t r = i * 7919 % p.rows;
    const std::int64_t c = i == 0 ? p.cols - 1 : i * 104729 % p.cols;
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t k = 0; k < p.depth; ++k) {
      const double term =
          static_cast<double>(x.row(r)[k]) * static_cast<double>(w.view().row(k)[c]);
      sum += term;
      magnitude += std::abs(term);
    }
    const double error = std::abs(static_cast<double>(y.row(r)[c]) - sum);
    if (!(error <= limit * magnitude)) return false;
  }
  return true;
}

// What a row keeps between its repetitions.
struct Problem {
  PlacedMatrix x, y;
  Matrix w;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Projection> projection;
};

Prepared prepare(const Contestant& who, const Product& p) {
  const auto problem = std::make_shared<Problem>();
  problem->x = PlacedMatrix(gaussian(p.rows, p.depth, 1).view());
  problem->w = gaussian(p.depth, p.cols, 2);
  problem->y = PlacedMatrix(p.rows, p.cols);
  problem->backend = backend_entry(who.backend).make({who.threads, who.target, "", who.precision});
  const ProjectionSpec spec{p.rows, {{{problem->w.view()}, {}, p.cols}}};
  // On huge pages, as in a layer.
  const ArenaScope arena(8 * (p.rows + p.depth) * (p.cols + p.depth));
  problem->projection = problem->backend->make_projection(spec);
  const auto run = [problem, p] {
    problem->projection->run(
        problem->x.view(), BlockedView{problem->y.view().data, p.rows, p.cols, 1, p.cols, p.cols});
  };
  run();
  const bool right =
      correct(p, error_limit(who.precision, p), problem->x.view(), problem->w, problem->y.view());
  problem->w = Matrix();  // already packed, and just as large
  return {run, right ? "" : "wrong result"};
}

Row row_of(const Contestant& who, const Product& p) {
  Row row;
  row.name = fmt::format("project/{}/M{}_N{}_K{}", who.id(), p.rows, p.cols, p.depth);
  row.target = who.target;
  row.threads = who.threads;
  row.precision = who.precision;
  row.flops = 2.0 * static_cast<double>(p.rows * p.cols * p.depth);
  // With few rows, and weights larger than the caches, reading the weights once is the limit.
  const double weights = 4.0 * static_cast<double>(p.cols * p.depth);
  if (p.rows <= 16 && weights >= 64e6) row.bytes = weights;
  row.prepare = [who, p] { return prepare(who, p); };
  return row;
}

}  // namespace

void register_project() {
  for (const Product& p : kProducts) {
    add_rows([&p](const Contestant& who) { return row_of(who, p); });
  }
}

}  // namespace headroom::bench
