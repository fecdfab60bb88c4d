#include "measure/check.hpp"

#include <algorithm>
#include <limits>

#include "headroom/initialise.hpp"
#include "machine/cores.hpp"
#include "reference/oracle_cost.hpp"

namespace headroom::measure {
namespace {

// Queries and keys of unit variance give logits of unit variance. Scaled by 36, the largest of a
// few hundred reach 100.
constexpr float kAdversarialScale = 6;

void scale(Matrix& matrix) {
  for (float& value : matrix.values) value *= kAdversarialScale;
}

}  // namespace

Problem make_problem(const Shape& shape, std::uint64_t seed, reference::Data data,
                     double max_flops) {
  Problem problem{shape, gaussian_weights(shape, seed), gaussian_input(shape, seed + 1), {}, data};
  if (data == reference::Data::adversarial) {
    scale(problem.weights.query);
    scale(problem.weights.key);
  }
  // numerics.md: the element bound applies to dropout, whatever the values.
  if (shape.dropout > 0) problem.data = reference::Data::adversarial;
  problem.expected =
      reference::attention(shape, problem.weights, problem.x.view(),
                           reference::affordable_rows(shape, max_flops), allowed_cores());
  return problem;
}

Checked run_and_compare(Attention& attention, const Problem& problem, MatrixView y) {
  for (std::int64_t row = 0; row < y.rows; ++row) {
    std::fill_n(y.row(row), y.cols, std::numeric_limits<float>::quiet_NaN());
  }
  Checked checked;
  attention.forward(problem.x.view(), y, checked.phases);
  checked.comparison = reference::compare(problem.expected, y, problem.data);
  return checked;
}

}  // namespace headroom::measure
