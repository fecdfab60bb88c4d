// Softmax attention over heads, from a few tokens to long sequences.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>

#include "backends/backend.hpp"
#include "headroom/initialise.hpp"
#include "kernels/limits.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"

namespace headroom::bench {
namespace {

struct Case {
  std::int64_t tokens, head_dim, heads;
  bool causal;
};

constexpr std::int64_t kTokens[] = {16, 64, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::int64_t kHeadDims[] = {16, 32, 64, 80, 128};
// Enough heads for short sequences to be worth timing and for two threads to share.
std::int64_t heads_for(std::int64_t tokens) { return tokens <= 512 ? 12 : tokens <= 2048 ? 4 : 2; }

Shape shape_of(const Case& c) {
  Shape shape;
  shape.tokens = c.tokens;
  shape.heads = c.heads;
  shape.d_in = shape.d_out = c.heads * c.head_dim;
  shape.causal = c.causal;
  return shape;
}

// Query, key and value of the whole layer with identity weights are its input, so the oracle of the
// layer is an oracle of attention: q = k = v = x.
Matrix identity(std::int64_t size) {
  Matrix m(size, size);
  for (std::int64_t i = 0; i < size; ++i) m.view().row(i)[i] = 1;
  return m;
}

bool correct(const Shape& shape, const Matrix& x, const Matrix& y) {
  SplitWeights weights;
  weights.query = weights.key = weights.value = identity(shape.d_in);
  const auto rows = reference::affordable_rows(shape, 2e9);
  const auto expected = reference::attention(shape, weights, x.view(), rows, 2);
  return reference::compare(expected, y.view(), reference::Data::standard).passed;
}

// The values in the layout that the backend asks for.
Matrix in_layout(HeadLayout layout, const Shape& shape, const Matrix& x) {
  if (layout == HeadLayout::token_major) return x;
  Matrix heads(x.rows, x.cols);
  const std::int64_t head_dim = shape.head_dim();
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < x.cols; ++c) {
      heads
          .values[static_cast<std::size_t>((c / head_dim * x.rows + r) * head_dim + c % head_dim)] =
          x.view().row(r)[c];
    }
  }
  return heads;
}

void run_case(benchmark::State& state, const Contestant& who, const Case& c) {
  const Shape shape = shape_of(c);
  if (const auto reason = backend_entry(who.backend).declines(shape)) {
    state.SkipWithError(reason->c_str());
    return;
  }
  const std::unique_ptr<Backend> backend = backend_entry(who.backend).make({who.threads, who.isa});
  const Matrix x = gaussian_input(shape, 1);
  const Matrix qkv = in_layout(backend->head_layout(), shape, x);
  Matrix y(shape.rows(), shape.d_out);
  const bool head_major = backend->head_layout() == HeadLayout::head_major;
  const ConstBlockedView in{
      qkv.values.data(), shape.rows(), head_major ? c.head_dim : shape.d_out,
      c.heads,           c.head_dim,   head_major ? shape.rows() * c.head_dim : c.head_dim};
  const BlockedView out{y.values.data(), shape.rows(), shape.d_out,
                        c.heads,         c.head_dim,   c.head_dim};
  const std::unique_ptr<HeadAttention> attention = backend->make_attention(shape);
  attention->run(in, in, in, out);
  if (!correct(shape, x, y)) {
    state.SkipWithError("wrong result");
    return;
  }
  for (auto _ : state) attention->run(in, in, in, out);

  const double flops = shape.flops().attention * static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["gflops"] = Counter(flops / 1e9, Counter::kIsRate);
  state.counters["peak_share"] =
      Counter(flops / (1e9 * fma_peak(who.isa, who.threads)), Counter::kIsRate);
}

}  // namespace

void register_attend() {
  for (const std::int64_t tokens : kTokens) {
    for (const std::int64_t head_dim : kHeadDims) {
      for (const bool causal : {true, false}) {
        const Case c{tokens, head_dim, heads_for(tokens), causal};
        for (const Contestant& who : contestants()) {
          const std::string name = fmt::format("attend/{}/T{}_D{}_H{}{}", who.id(), tokens,
                                               head_dim, c.heads, causal ? "" : "_nomask");
          benchmark::RegisterBenchmark(
              name.c_str(), [who, c](benchmark::State& state) { run_case(state, who, c); })
              ->UseRealTime()
              ->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
}

}  // namespace headroom::bench
