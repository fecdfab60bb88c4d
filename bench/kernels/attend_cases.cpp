// Softmax attention over heads, from a few tokens to long sequences.

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "backends/backend.hpp"
#include "core/arena.hpp"
#include "core/placed_matrix.hpp"
#include "headroom/initialise.hpp"
#include "kernels/rows.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "reference/oracle_cost.hpp"

namespace headroom::bench {
namespace {

struct Sizes {
  std::int64_t tokens, head_dim, heads;
  bool causal;
};

constexpr std::int64_t kTokens[] = {1, 16, 64, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::int64_t kHeadDims[] = {16, 32, 64, 80, 128};
// Enough heads to make short sequences worth timing and to occupy two threads.
std::int64_t heads_for(std::int64_t tokens) { return tokens <= 512 ? 12 : tokens <= 2048 ? 4 : 2; }

Case shape_of(const Sizes& c) {
  Case shape;
  shape.tokens = c.tokens;
  shape.heads = c.heads;
  shape.d_in = shape.d_out = c.heads * c.head_dim;
  shape.causal = c.causal;
  return shape;
}

// With identity weights, query, key and value of the layer equal its input (q = k = v = x), so the
// oracle of the layer is an oracle of attention.
Matrix identity(std::int64_t size) {
  Matrix m(size, size);
  for (std::int64_t i = 0; i < size; ++i) m.view().row(i)[i] = 1;
  return m;
}

bool correct(const Case& shape, Precision precision, const Matrix& x, ConstMatrixView y) {
  SplitWeights weights;
  weights.query = weights.key = weights.value = identity(shape.d_in);
  const auto rows = reference::affordable_rows(shape, 2e9, 1);
  const auto expected = reference::attention(shape, weights, x.view(), rows, 2);
  return reference::compare(expected, y, reference::Data::standard, {precision, Dtype::f32}).passed;
}

// The values in the layout that the backend requires.
Matrix in_layout(HeadLayout layout, const Case& shape, const Matrix& x) {
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

// What a row keeps between its repetitions.
struct Problem {
  PlacedMatrix qkv, y;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<HeadAttention> attention;
  std::vector<Sequence> sequences;
};

Prepared prepare(const Contestant& who, const Sizes& c) {
  const Case shape = shape_of(c);
  if (const auto reason = backend_entry(who.backend).declines(shape)) return {{}, *reason};
  const auto problem = std::make_shared<Problem>();
  problem->backend = backend_entry(who.backend).make({who.threads, who.target, "", who.precision});
  const Matrix x = gaussian_input(shape.rows(), shape, 1);
  const bool head_major = problem->backend->head_layout() == HeadLayout::head_major;
  problem->qkv = PlacedMatrix(in_layout(problem->backend->head_layout(), shape, x).view());
  problem->y = PlacedMatrix(shape.rows(), shape.d_out);
  // On huge pages, as in a layer.
  const ArenaScope arena(64 * shape.rows() * shape.d_out);
  problem->attention = problem->backend->make_attention(shape);
  problem->sequences = sequences_of(shape);
  const auto run = [problem, shape, head_major] {
    const std::int64_t head_dim = shape.head_dim();
    const BlockedView in{problem->qkv.view().data,
                         shape.rows(),
                         head_major ? head_dim : shape.d_out,
                         shape.heads,
                         head_dim,
                         head_major ? shape.rows() * head_dim : head_dim};
    const BlockedView out{
        problem->y.view().data, shape.rows(), shape.d_out, shape.heads, head_dim, head_dim};
    problem->attention->run({in, in, in, out, problem->sequences});
  };
  run();
  return {run, correct(shape, who.precision, x, problem->y.view()) ? "" : "wrong result"};
}

Row row_of(const Contestant& who, const Sizes& c) {
  Row row;
  row.name = fmt::format("attend/{}/T{}_D{}_H{}{}", who.id(), c.tokens, c.head_dim, c.heads,
                         c.causal ? "" : "_nomask");
  row.target = who.target;
  row.threads = who.threads;
  row.precision = who.precision;
  row.flops = shape_of(c).flops().attention;
  row.prepare = [who, c] { return prepare(who, c); };
  return row;
}

}  // namespace

void register_attend() {
  for (const std::int64_t tokens : kTokens) {
    for (const std::int64_t head_dim : kHeadDims) {
      for (const bool causal : {true, false}) {
        const Sizes c{tokens, head_dim, heads_for(tokens), causal};
        add_rows([&c](const Contestant& who) { return row_of(who, c); });
      }
    }
  }
}

}  // namespace headroom::bench
