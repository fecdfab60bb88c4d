#include "measure/group/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "core/element/few_bits.hpp"
#include "headroom/initialise.hpp"
#include "measure/group/heads_layout.hpp"
#include "measure/group/outlier_data.hpp"
#include "plan/estimate.hpp"
#include "plan/user_weights.hpp"
#include "processor/cores.hpp"
#include "reference/oracle_cost.hpp"
#include "statistics/samples.hpp"

namespace headroom::measure {
namespace {

// Queries and keys of unit variance give logits of unit variance. Scaled by 36, the largest of a
// few hundred reach 100.
constexpr float kAdversarialScale = 6;

void scale(Matrix& matrix) {
  for (float& value : matrix.values) value *= kAdversarialScale;
}

reference::Inputs inputs_of(const Problem& problem) {
  return {.x = problem.x.view(),
          .past = problem.past.view(),
          .memory = problem.memory.view(),
          .key = problem.key.view(),
          .value = problem.value.view(),
          .rounds_cache = problem.rounds_cache};
}

void round_to_bf16(std::vector<float>& values) {
  for (float& value : values) value = headroom::round_to_bf16(value).value();
}

void round_to(const Numbers& stored, Problem& problem) {
  SplitWeights& w = problem.weights;
  for (Matrix* matrix : {&w.query, &w.key, &w.value, &w.output, &w.gate}) {
    round_weights(stored.stored_weights(), matrix->view());
  }
  if (stored.stored_cache() == Storage::bf16) {
    round_to_bf16(problem.key.values);
    round_to_bf16(problem.value.values);
  }
  problem.rounds_cache = stored.stored_cache() == Storage::q8;
  if (stored.dtype == Dtype::f32) return;
  for (Matrix* matrix :
       {&problem.x, &problem.past, &problem.memory, &problem.key, &problem.value}) {
    round_to_bf16(matrix->values);
  }
  for (std::vector<float>* bias : {&w.query_bias, &w.key_bias, &w.value_bias, &w.output_bias}) {
    round_to_bf16(*bias);
  }
}

// What every class of limits among the rivals needs beyond the bound of f32.
void add_bounds(Problem& problem, const std::vector<Numbers>& rivals) {
  if (problem.data == reference::Data::standard) return;
  for (const Numbers& numbers : rivals) {
    const Precision of_limits = reference::limit_class(numbers);
    if (of_limits == Precision::f32 || problem.expected.coarse_bounds.contains(of_limits)) continue;
    reference::add_coarse_bound(problem.shape, problem.weights, inputs_of(problem), of_limits,
                                allowed_cores(), problem.expected);
  }
}

// Rounds all that is fed to what the rivals store, and computes what is expected of them.
void expect_result(Problem& problem, std::uint64_t seed, double max_flops,
                   const std::vector<Numbers>& rivals) {
  const std::vector<std::int64_t> rows = reference::affordable_rows(problem.shape, max_flops, seed);
  const auto expect = [&](reference::Keep keep) {
    return reference::attention(problem.shape, problem.weights, inputs_of(problem), rows,
                                allowed_cores(), keep);
  };
  const Numbers stored = rivals.empty() ? Numbers{} : rivals.front().as_stored();
  // Of a layer some of what is rounded lies between two steps, and a bound knows which.
  if (stored.stored_cache() == Storage::q8) problem.data = reference::Data::adversarial;
  if (stored == Numbers{}) {
    problem.expected = expect(reference::Keep::result);
  } else {
    const reference::Expected unrounded = expect(reference::Keep::attention_weights);
    round_to(stored, problem);
    problem.expected = expect(reference::Keep::attention_weights);
    // No number where weights of the user's are none.
    const double distance = reference::distance(problem.expected, unrounded);
    if (std::isfinite(distance)) problem.storage_error = distance;
    problem.attention_shift =
        reference::attention_shift(problem.shape, unrounded, problem.expected);
    problem.expected.attention_weights = {};
  }
  add_bounds(problem, rivals);
}

std::vector<Numbers> numbers_of_rivals(const plan::Group& group) {
  std::vector<Numbers> rivals;
  for (const plan::Cell& cell : group.cells) {
    if (!cell.unsupported) rivals.push_back(cell.numbers);
  }
  return rivals;
}

}  // namespace

double total(const PhaseTimes& times) {
  return times.qkv + times.attend + times.output + times.sum;
}

reference::Data judged_as(const Case& shape, reference::Data drawn,
                          const std::vector<Numbers>& rivals) {
  const bool bytes = std::any_of(rivals.begin(), rivals.end(), [](const Numbers& each) {
    return each.precision == Precision::int8;
  });
  const bool by_element = shape.dropout > 0 || !shape.has_projections() || shape.outliers > 0 ||
                          (bytes && !reference::averages_bytes(shape));
  return by_element ? reference::Data::adversarial : drawn;
}

Problem make_inputs(const plan::Group& group, std::uint64_t seed, reference::Data data) {
  const Case& shape = group.shape;
  const plan::UserWeights* weights = group.weights.get();
  Problem problem{
      shape,
      weights == nullptr ? drawn_weights(shape, seed) : plan::load_user_weights(*weights, shape),
      group.input == nullptr ? gaussian_input(shape.rows(), shape, seed + 1) : *group.input,
      {},
      data};
  if (!shape.has_projections()) {
    problem.x = gaussian_queries(shape, seed + 1);
    problem.key = gaussian_keys(shape, seed + 1);
    problem.value = gaussian_values(shape, seed + 1);
  } else if (shape.past > 0) {
    problem.past = gaussian_past(shape.batch * shape.past, shape, seed + 1);
  }
  if (shape.d_memory > 0) problem.memory = gaussian_memory(shape.memory_rows(), shape, seed + 1);
  add_outliers(problem);
  if (data == reference::Data::adversarial && weights == nullptr) {
    scale(shape.has_projections() ? problem.weights.query : problem.x);
    scale(shape.has_projections() ? problem.weights.key : problem.key);
  }
  const bool any_size = weights != nullptr || group.input != nullptr;
  problem.data =
      any_size ? reference::Data::adversarial : judged_as(shape, data, numbers_of_rivals(group));
  return problem;
}

Problem make_problem(const plan::Group& group, std::uint64_t seed, reference::Data data,
                     double max_flops) {
  Problem problem = make_inputs(group, seed, data);
  expect_result(problem, seed, max_flops, numbers_of_rivals(group));
  return problem;
}

std::optional<Problem> try_problem(const plan::Group& group, std::uint64_t seed) {
  try {
    return make_problem(group, seed, reference::Data::standard, plan::kCheckFlops);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

Checked run_and_compare(CellLayer& layer, const Problem& problem, ConstMatrixView x, MatrixView y,
                        const BeforePass& before) {
  for (std::int64_t row = 0; row < y.rows; ++row) {
    std::fill_n(y.row(row), y.cols, std::numeric_limits<float>::quiet_NaN());
  }
  Checked checked;
  layer.take(y);
  if (before) before();
  layer.forward(x, y, checked.phases);
  layer.give(y);
  checked.comparison = reference::compare(problem.expected, y, problem.data, layer.numbers());
  return checked;
}

Pace measure_pace(CellLayer& layer, ConstMatrixView x, MatrixView y, const PhaseTimes& first,
                  const BeforePass& before) {
  Pace pace{first, total(first)};
  if (pace.forward >= plan::kShortPass) return pace;
  // The first pass found fresh memory; it says nothing about the others.
  std::vector<double> qkv, attend, output, sum;
  for (int run = 0; run < plan::kPhaseRuns; ++run) {
    PhaseTimes times;
    if (before) before();
    layer.forward(x, y, times);
    qkv.push_back(times.qkv);
    attend.push_back(times.attend);
    output.push_back(times.output);
    sum.push_back(times.sum);
    pace.forward = std::min(pace.forward, total(times));
  }
  pace.phases = {statistics::median(qkv), statistics::median(attend), statistics::median(output),
                 statistics::median(sum)};
  return pace;
}

}  // namespace headroom::measure
