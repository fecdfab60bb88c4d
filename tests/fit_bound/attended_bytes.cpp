#include "attended_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "headroom/dot_product.hpp"
#include "headroom/headroom.hpp"
#include "processor/cores.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"

namespace headroom::test {
namespace {

constexpr Numbers kBytes{Precision::int8, Dtype::f32, std::nullopt, Storage::q8};

struct Random {
  std::mt19937_64 bits;

  std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution(least, most)(bits);
  }
  float gaussian() { return std::normal_distribution<float>()(bits); }
};

struct AttentionProgram {
  std::string data;
  Case shape;
  Matrix q, k, v;

  reference::Inputs inputs() const {
    reference::Inputs all{.x = q.view(), .key = k.view(), .value = v.view()};
    all.rounds_cache = true;
    return all;
  }
};

Matrix gaussian(Random& random, std::int64_t rows, std::int64_t cols) {
  Matrix matrix(rows, cols);
  for (float& value : matrix.values) value = random.gaussian();
  return matrix;
}

void each_row(Matrix& matrix, const std::function<void(float*)>& change) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) change(matrix.view().row(row));
}

AttentionProgram random_attention(std::uint64_t number) {
  Random random{std::mt19937_64(number)};
  constexpr std::int64_t kDims[] = {3, 16, 33, 40, 64, 80, 96, 128};
  AttentionProgram program;
  Case& shape = program.shape;
  shape.kv_heads = random.from(1, 3);
  shape.heads = shape.kv_heads * random.from(1, 4);
  shape.d_out = shape.heads * kDims[random.from(0, 7)];
  shape.tokens = random.from(1, 40);
  shape.past = random.from(64, 1500);
  if (random.from(0, 3) == 0) shape.window = random.from(2, 200);
  program.q = gaussian(random, shape.tokens, shape.d_out);
  program.k = gaussian(random, shape.context(), shape.kv_width());
  program.v = gaussian(random, shape.context(), shape.kv_width());
  constexpr const char* kData[] = {"Gaussian", "Gaussian",        "6-fold",
                                   "outliers", "constant values", "offset"};
  program.data = kData[number % 6];
  if (program.data == "6-fold") {
    for (float& value : program.q.values) value *= 6;
  }
  if (program.data == "outliers") {
    each_row(program.k, [](float* row) { row[0] *= 300; });
    each_row(program.q, [&](float* row) {
      for (std::int64_t h = 0; h < shape.heads; ++h) row[h * shape.head_dim()] /= 300;
    });
  }
  if (program.data == "constant values") {
    each_row(program.v, [&](float* row) {
      std::fill_n(row, shape.kv_width(), 1.0F);
      row[0] = 0.3F;
    });
  }
  if (program.data == "offset") {
    for (float& value : program.k.values) value += 3;
    for (float& value : program.v.values) value += 3;
  }
  return program;
}

Matrix run(const AttentionProgram& program) {
  const Case& shape = program.shape;
  AttentionOptions options{"xsimd"};
  options.precision = Precision::int8;
  options.cache_dtype = Storage::q8;
  DotProductAttention attention(
      {1, shape.tokens, shape.context(), shape.heads, shape.key_heads(), shape.head_dim()},
      {.causal = true, .window = shape.window}, options);
  Matrix y(shape.tokens, shape.d_out);
  const auto heads = [&](const Matrix& of, std::int64_t count) {
    return token_major(of.view().data, 1, of.rows, count, shape.head_dim());
  };
  attention.run(heads(program.q, shape.heads), heads(program.k, shape.key_heads()),
                heads(program.v, shape.key_heads()),
                token_major(y.view().data, 1, shape.tokens, shape.heads, shape.head_dim()));
  return y;
}

// What the oracle gives for a call with one thing wrong.
Matrix with_fault(AttentionProgram program, const std::string& fault) {
  const std::int64_t dim = program.shape.head_dim();
  if (fault == "scores of another channel") {
    each_row(program.q, [&](float* row) { std::rotate(row, row + 1, row + dim); });
  }
  if (fault == "keys of their neighbours") {
    std::rotate(program.k.values.begin(), program.k.values.begin() + program.k.cols,
                program.k.values.end());
  }
  if (fault == "values of their neighbours") {
    std::rotate(program.v.values.begin(), program.v.values.begin() + program.v.cols,
                program.v.values.end());
  }
  if (fault == "half of the scale") program.shape.scale = program.shape.score_scale() / 2;
  if (fault == "values 10 % larger") {
    for (float& value : program.v.values) value *= 1.1F;
  }
  const reference::Expected expected = reference::attention(
      program.shape, {}, program.inputs(), reference::all_rows(program.shape), allowed_cores());
  Matrix y(program.shape.tokens, program.shape.d_out);
  if (fault == "zeros") return y;
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] = static_cast<float>(expected.y[i]);
  return y;
}

struct Found {
  double nrmse = 0, bound_ratio = 0;
};

}  // namespace

void fit_attended_bytes(std::uint64_t calls) {
  constexpr double kShows = 5e-2;
  constexpr const char* kFaults[] = {"scores of another channel",  "keys of their neighbours",
                                     "values of their neighbours", "half of the scale",
                                     "values 10 % larger",         "zeros"};
  std::map<std::string, Found> errors;
  std::map<std::string, std::pair<int, int>> missed;
  for (std::uint64_t number = 0; number < calls; ++number) {
    const AttentionProgram program = random_attention(number);
    reference::Expected expected = reference::attention(
        program.shape, {}, program.inputs(), reference::all_rows(program.shape), allowed_cores());
    reference::add_coarse_bound(program.shape, {}, program.inputs(), Precision::int8,
                                allowed_cores(), expected);
    const auto compare = [&](const Matrix& y) {
      return reference::compare(expected, y.view(), reference::Data::adversarial, kBytes);
    };
    const auto found = compare(run(program));
    Found& worst = errors[program.data];
    worst.nrmse = std::max(worst.nrmse, found.nrmse);
    worst.bound_ratio = std::max(worst.bound_ratio, found.bound_ratio);
    for (const char* fault : kFaults) {
      const auto wrong = compare(with_fault(program, fault));
      if (!(wrong.nrmse > kShows)) continue;
      auto& [all, within] = missed[fmt::format("{}, {}", fault, program.data)];
      ++all;
      if (wrong.passed) ++within;
    }
  }
  for (const auto& [name, worst] : errors) {
    fmt::print("{:<45} at most  {:.3f} of the bound, nrmse {:.2e}\n", name, worst.bound_ratio,
               worst.nrmse);
  }
  for (const auto& [name, count] : missed) {
    fmt::print("{:<45} missed in {} of {}\n", name, count.second, count.first);
  }
}

}  // namespace headroom::test
