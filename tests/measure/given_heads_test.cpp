// Attention alone as a cell: checked like a layer, and wrong where a layer would be.
#include "measure/group/given_heads.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "measure/crew/crew.hpp"
#include "measure/group/check.hpp"

namespace headroom::measure::given_heads_test {
namespace {

plan::Group group_of(std::int64_t past, Dtype dtype = Dtype::f32) {
  plan::Group group;
  group.shape.batch = 3;
  group.shape.tokens = 4;
  group.shape.d_out = 32;
  group.shape.heads = 4;
  group.shape.kv_heads = 2;
  group.shape.past = past;
  plan::Cell& cell = group.cells.emplace_back();
  cell.backend = "naive";
  cell.numbers.dtype = dtype;
  cell.id = plan::cell_id(group.shape, cell);
  return group;
}

TEST(GivenHeads, PassTheirCheckEveryTime) {
  for (const std::int64_t past : {0, 70}) {
    const plan::Group group = group_of(past);
    for (const auto data : {reference::Data::standard, reference::Data::adversarial}) {
      const Problem problem = make_problem(group, 1, data, 1e9);
      ASSERT_TRUE(problem.all_rows_checked());
      const auto layer = make_layer(problem, group.cells.front(), nullptr);
      EXPECT_EQ(layer->cache_bytes(), 4 * 3 * (4 + past) * 2 * 16);
      EXPECT_EQ(layer->costs().packed_bytes, 0);
      Matrix y(12, 32);
      for (int pass = 0; pass < 2; ++pass) {
        const Checked checked = run_and_compare(*layer, problem, problem.x.view(), y.view());
        EXPECT_TRUE(checked.comparison.passed) << checked.comparison.reason;
        EXPECT_GT(checked.phases.attend, 0);
        EXPECT_EQ(checked.phases.qkv + checked.phases.output, 0);
      }
    }
  }
}

// What is expected follows each of the three inputs: one that is not read is found.
TEST(GivenHeads, AreComparedWithWhatTheyWereGiven) {
  const plan::Group group = group_of(5);
  const Problem problem = make_problem(group, 1, reference::Data::standard, 1e9);
  Matrix y(12, 32);
  for (Matrix Problem::*input : {&Problem::x, &Problem::key, &Problem::value}) {
    Problem other = problem;
    for (float& value : (other.*input).values) value = -value;
    const auto layer = make_layer(other, group.cells.front(), nullptr);
    EXPECT_FALSE(run_and_compare(*layer, problem, other.x.view(), y.view()).comparison.passed);
  }
}

}  // namespace
}  // namespace headroom::measure::given_heads_test
