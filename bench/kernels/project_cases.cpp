// `Y = X W`: rows from one to many, widths from one head to the largest model.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "backends/backend.hpp"
#include "headroom/initialise.hpp"
#include "kernels/limits.hpp"

namespace headroom::bench {
namespace {

struct Product {
  std::int64_t rows, cols, depth;
};

// One head of a wrapper, square layers of the models, all of query, key and value at once.
constexpr Product kProducts[] = {
    {1, 64, 768},      {16, 64, 768},     {128, 64, 768},      {1024, 64, 768},
    {1, 768, 768},     {16, 768, 768},    {128, 768, 768},     {512, 768, 768},
    {1024, 768, 768},  {2048, 768, 768},  {1024, 2304, 768},   {512, 3072, 768},
    {1024, 768, 3072}, {512, 1600, 1600}, {512, 2048, 2048},   {1024, 2048, 2048},
    {1, 4096, 4096},   {16, 4096, 4096},  {512, 4096, 4096},   {1024, 4096, 4096},
    {1024, 4096, 768}, {1024, 768, 4096}, {1, 12288, 12288},   {16, 12288, 12288},
    {16, 128, 12288},  {128, 128, 12288}, {512, 12288, 12288},
};

Matrix gaussian(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Shape shape;
  shape.tokens = rows;
  shape.d_in = cols;
  return gaussian_input(shape, seed);
}

// Compares some elements with a double sum; the bound is that of a chain of `depth` roundings.
bool correct(const Product& p, const Matrix& x, const Matrix& w, const Matrix& y) {
  for (std::int64_t i = 0; i < 64; ++i) {
    const std::int64_t r = i * 7919 % p.rows;
    const std::int64_t c = i == 0 ? p.cols - 1 : i * 104729 % p.cols;
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t k = 0; k < p.depth; ++k) {
      const double term =
          static_cast<double>(x.view().row(r)[k]) * static_cast<double>(w.view().row(k)[c]);
      sum += term;
      magnitude += std::abs(term);
    }
    const double error = std::abs(static_cast<double>(y.view().row(r)[c]) - sum);
    if (!(error <= 0x1p-23 * magnitude)) return false;
  }
  return true;
}

void run_case(benchmark::State& state, const Contestant& who, const Product& p) {
  const Matrix x = gaussian(p.rows, p.depth, 1);
  const Matrix w = gaussian(p.depth, p.cols, 2);
  Matrix y(p.rows, p.cols);
  const std::unique_ptr<Backend> backend = backend_entry(who.backend).make({who.threads, who.isa});
  ProjectionSpec spec;
  spec.rows = p.rows;
  spec.weights = {w.view()};
  spec.block_cols = p.cols;
  const std::unique_ptr<Projection> projection = backend->make_projection(spec);
  const BlockedView to{y.values.data(), p.rows, p.cols, 1, p.cols, p.cols};
  projection->run(x.view(), to);
  if (!correct(p, x, w, y)) {
    state.SkipWithError("wrong result");
    return;
  }
  for (auto _ : state) projection->run(x.view(), to);

  const double flops = 2.0 * static_cast<double>(p.rows) * static_cast<double>(p.cols) *
                       static_cast<double>(p.depth);
  using benchmark::Counter;
  const double iterations = static_cast<double>(state.iterations());
  state.counters["gflops"] = Counter(flops * iterations / 1e9, Counter::kIsRate);
  state.counters["peak_share"] =
      Counter(flops * iterations / (1e9 * fma_peak(who.isa, who.threads)), Counter::kIsRate);
  if (p.rows <= 16) {  // bound by reading the weights, once
    const double bytes = 4.0 * static_cast<double>(p.cols) * static_cast<double>(p.depth);
    state.counters["read_share"] =
        Counter(bytes * iterations / (1e9 * read_bandwidth(who.threads)), Counter::kIsRate);
  }
}

}  // namespace

void register_project() {
  for (const Product& p : kProducts) {
    for (const Contestant& who : contestants()) {
      const std::string name =
          fmt::format("project/{}/M{}_N{}_K{}", who.id(), p.rows, p.cols, p.depth);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [who, p](benchmark::State& state) { run_case(state, who, p); })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace headroom::bench
