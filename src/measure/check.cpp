#include "measure/check.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "headroom/initialise.hpp"
#include "machine/cores.hpp"
#include "plan/estimate.hpp"
#include "plan/user_weights.hpp"
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
  return {problem.x.view(), problem.past.view(), problem.memory.view()};
}

}  // namespace

double total(const PhaseTimes& times) { return times.qkv + times.attend + times.output; }

Problem make_problem(const Shape& shape, std::uint64_t seed, reference::Data data, double max_flops,
                     const plan::UserWeights* weights) {
  Problem problem{
      shape,
      weights == nullptr ? gaussian_weights(shape, seed) : plan::load_user_weights(*weights, shape),
      gaussian_input(shape, seed + 1),
      {},
      data};
  if (shape.past > 0) problem.past = gaussian_past(shape, seed + 1);
  if (shape.d_memory > 0) problem.memory = gaussian_memory(shape, seed + 1);
  if (data == reference::Data::adversarial && weights == nullptr) {
    scale(problem.weights.query);
    scale(problem.weights.key);
  }
  // The norm-wise limits are for Gaussian data without dropout.
  if (shape.dropout > 0 || weights != nullptr) problem.data = reference::Data::adversarial;
  problem.expected =
      reference::attention(shape, problem.weights, inputs_of(problem),
                           reference::affordable_rows(shape, max_flops, seed), allowed_cores());
  return problem;
}

Checked run_and_compare(CellLayer& layer, const Problem& problem, ConstMatrixView x, MatrixView y,
                        const BeforePass& before) {
  for (std::int64_t row = 0; row < y.rows; ++row) {
    std::fill_n(y.row(row), y.cols, std::numeric_limits<float>::quiet_NaN());
  }
  Checked checked;
  if (before) before();
  layer.forward(x, y, checked.phases);
  checked.comparison = reference::compare(problem.expected, y, problem.data);
  return checked;
}

Pace measure_pace(CellLayer& layer, ConstMatrixView x, MatrixView y, const PhaseTimes& first,
                  const BeforePass& before) {
  Pace pace{first, total(first)};
  if (pace.forward >= plan::kShortPass) return pace;
  // The first pass found fresh memory; it says nothing about the others.
  std::vector<double> qkv, attend, output;
  for (int run = 0; run < plan::kPhaseRuns; ++run) {
    PhaseTimes times;
    if (before) before();
    layer.forward(x, y, times);
    qkv.push_back(times.qkv);
    attend.push_back(times.attend);
    output.push_back(times.output);
    pace.forward = std::min(pace.forward, total(times));
  }
  pace.phases = {statistics::median(qkv), statistics::median(attend), statistics::median(output)};
  return pace;
}

}  // namespace headroom::measure
