// The call of a cell: its cache is filled before, and every pass finds the same past.
#include "measure/group/cell_layer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/call/demand.hpp"
#include "core/case_layer.hpp"
#include "core/element/few_bits.hpp"
#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "measure/group/cell_result.hpp"
#include "measure/group/check.hpp"
#include "support/sample_results.hpp"

namespace headroom::measure::cell_layer_test {
namespace {

Case after() {
  Case shape;
  shape.batch = 3;
  shape.tokens = 4;
  shape.d_in = shape.d_proj = 24;
  shape.d_out = 32;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.past = 2 * plan::kFillTokens + 7;
  shape.lengths = {4, 0, 1};
  shape.rotary.pairs = Rotary::Pairs::halves;
  return shape;
}

AttentionOptions naive() { return {"naive", Formulation::split, 1}; }

TEST(CellLayer, GivesTheSameEveryTimeAndPassesItsCheck) {
  const Problem problem = make_problem({after(), {}}, 1, reference::Data::standard, 1e9);
  EXPECT_TRUE(problem.all_rows_checked());
  LocalLayer layer(problem, naive());
  EXPECT_EQ(layer.attention().largest().tokens, plan::kFillTokens);
  EXPECT_GT(layer.cache_bytes(), 0);
  EXPECT_GT(layer.fill_seconds(), 0);
  Matrix y(5, 24);
  for (int pass = 0; pass < 3; ++pass) {
    const Checked checked = run_and_compare(layer, problem, problem.x.view(), y.view());
    EXPECT_TRUE(checked.comparison.passed) << pass << ": " << checked.comparison.reason;
    EXPECT_GT(total(checked.phases), 0);
  }
}

TEST(CellLayer, ChunksOfAnySizeGiveTheSameBits) {
  const Problem problem = make_problem({after(), {}}, 1, reference::Data::standard, 1e9);
  std::vector<float> expected;
  for (const std::int64_t tokens : {plan::kFillTokens, std::int64_t{5}, std::int64_t{100}}) {
    LocalLayer layer(problem, naive(), tokens);
    Matrix y(5, 24);
    layer.forward(problem.x.view(), y.view());
    if (expected.empty()) expected = y.values;
    EXPECT_EQ(y.values, expected) << tokens;
  }
}

plan::Group that_stores(const Numbers& stored) {
  Case shape = after();
  shape.past = 0;
  plan::Cell cell;
  cell.backend = "naive";
  cell.numbers = stored;
  return {shape, {cell}};
}

// The oracle gets what is stored, and what that costs is a figure of its own.
TEST(CellLayer, IsFedWeightsAsTheyAreStored) {
  const auto problem_of = [](const Numbers& stored) {
    return make_problem(that_stores(stored), 1, reference::Data::standard, 1e9);
  };
  const Problem plain = problem_of({});
  EXPECT_FALSE(plain.storage_error);
  double before = 0;
  for (const Storage storage : {Storage::bf16, Storage::q8, Storage::q4}) {
    const Problem problem = problem_of({Precision::f32, Dtype::f32, storage});
    Matrix rounded = plain.weights.key;
    round_weights(storage, rounded.view());
    EXPECT_EQ(problem.weights.key.values, rounded.values);
    EXPECT_EQ(problem.x.values, plain.x.values);
    EXPECT_GT(*problem.storage_error, 2 * before) << "fewer bits cost more";
    before = *problem.storage_error;
    AttentionOptions options = naive();
    options.weights_dtype = storage;
    LocalLayer layer(problem, options);
    Matrix y(5, 24);
    EXPECT_TRUE(run_and_compare(layer, problem, problem.x.view(), y.view()).comparison.passed);
  }
  EXPECT_LT(before, 0.5);
}

// Also of a past that a cache cannot be cut to again and again.
TEST(CellLayer, IsFedACacheAsItIsStored) {
  Case shape = after();
  shape.lengths.clear();
  shape.tokens = 5;
  shape.past = 128;
  plan::Group group = that_stores({Precision::f32, Dtype::f32, std::nullopt, Storage::q8});
  group.shape = shape;
  const Problem problem = make_problem(group, 1, reference::Data::standard, 1e9);
  EXPECT_EQ(problem.data, reference::Data::adversarial) << "a bound knows what lies between steps";
  EXPECT_GT(*problem.storage_error, 1e-4);
  EXPECT_LT(*problem.storage_error, 2e-2);
  AttentionOptions options = naive();
  options.cache_dtype = Storage::q8;
  LocalLayer layer(problem, options);
  Matrix y(shape.rows(), shape.output_width());
  for (int pass = 0; pass < 2; ++pass) {
    const Checked checked = run_and_compare(layer, problem, problem.x.view(), y.view());
    EXPECT_TRUE(checked.comparison.passed) << checked.comparison.reason;
  }
  options.cache_dtype = std::nullopt;
  LocalLayer plain(problem, options);
  EXPECT_FALSE(run_and_compare(plain, problem, problem.x.view(), y.view()).comparison.passed);
  Problem odd = problem;
  odd.shape.past = 62;
  odd.past = gaussian_past(shape.batch * 62, odd.shape, 1);
  options.cache_dtype = Storage::q8;
  EXPECT_THROW(LocalLayer(odd, options), Unsupported);
}

TEST(CellLayer, WithoutAPastIsALayerOfItsShape) {
  Case shape = after();
  shape.past = 0;
  const Problem problem = make_problem({shape, {}}, 1, reference::Data::standard, 1e9);
  LocalLayer layer(problem, naive());
  EXPECT_EQ(layer.attention().config(), static_cast<const LayerConfig&>(shape));
  EXPECT_EQ(layer.attention().largest(), static_cast<const CallSizes&>(shape));
  EXPECT_EQ(layer.cache_bytes(), 0);
  Matrix y(5, 24);
  EXPECT_TRUE(run_and_compare(layer, problem, problem.x.view(), y.view()).comparison.passed);
}

TEST(CellLayer, AutoChoosesForTheCellAndNotForTheLayerThatFillsItsCache) {
  Case shape = after();
  shape.lengths.clear();
  shape.tokens = 1;
  const Problem problem = make_problem({shape, {}}, 1, reference::Data::standard, 1e9);
  AttentionOptions options;
  options.backend = kAuto;
  options.threads = 1;
  LocalLayer layer(problem, options);
  const Choice wanted = choose_for(shape, options);
  EXPECT_EQ(layer.choice().backend, wanted.backend);
  EXPECT_EQ(layer.choice().reason, wanted.reason);
  EXPECT_EQ(layer.attention().options().backend, wanted.backend);
}

TEST(Reading, IsAShareOfTheRoofAtItsWorkingSet) {
  record::CellResult part = test::with_time(test::sample_result("naive"), {2e-6, 2e-6});
  record::Peaks peaks;
  const std::int64_t bytes = bytes_to_read(part.shape);
  peaks.read_gbs_of_set[part.threads][record::size_class(bytes)] = 4;
  const record::CellResult whole = join_parts({part}, peaks, 1);
  ASSERT_TRUE(whole.reading.has_value());
  EXPECT_EQ(whole.reading->bytes, bytes);
  EXPECT_NEAR(whole.reading->gbps, static_cast<double>(bytes) / 2e-6 * 1e-9, 1e-9);
  EXPECT_NEAR(whole.reading->fraction.value(), whole.reading->gbps / 4, 1e-9);
  EXPECT_FALSE(join_parts({part}, {}, 1).reading->fraction.has_value());
  part.shape.tokens = kFewRows + 1;
  EXPECT_FALSE(join_parts({part}, peaks, 1).reading.has_value()) << "arithmetic is the question";
}

}  // namespace
}  // namespace headroom::measure::cell_layer_test
