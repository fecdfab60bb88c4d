// Estimates of cells with a past, groups of heads, a window or lengths.
#include <gtest/gtest.h>

#include "core/call/demand.hpp"
#include "plan/admission.hpp"
#include "plan/estimate.hpp"
#include "plan/shapes/layer_shape.hpp"

namespace headroom::plan::call_estimate_test {
namespace {

constexpr std::int64_t kFloat = 4;

Case decode() {
  Case shape;
  shape.tokens = 1;
  shape.d_in = shape.d_out = shape.d_proj = 4096;
  shape.heads = 32;
  shape.kv_heads = 8;
  shape.past = 32768;
  shape.validate();
  return shape;
}

Cell naive() {
  Cell cell;
  cell.backend = "naive";
  return cell;
}

TEST(CallEstimate, ALayerIsMadeForTheCallsThatFillItsCache) {
  Case shape = decode();
  EXPECT_EQ(layer_shape(shape).tokens, kFillTokens);
  shape.past = 7;
  EXPECT_EQ(layer_shape(shape).tokens, 7);
  shape.tokens = 9;
  shape.batch = 2;
  shape.lengths = {9, 0};
  EXPECT_EQ(layer_shape(shape).tokens, 9);
  EXPECT_TRUE(layer_shape(shape).lengths.empty()) << "any sequence may bring as many";
  shape.past = 0;
  shape.lengths.clear();
  EXPECT_EQ(layer_shape(shape), shape);
  EXPECT_EQ(fill_shape(decode()).tokens, 32768);
  EXPECT_EQ(fill_shape(decode()).past, 0);
}

TEST(CallEstimate, MemoryCountsTheCacheAndWhatFillsIt) {
  const Case shape = decode();
  Case without = layer_shape(shape);
  without.past = 0;
  const std::int64_t cache = kFloat * 2 * 8 * 128 * (32768 + 1);
  EXPECT_GE(cell_bytes(shape, naive()), cell_bytes(without, naive()) + cache);
  EXPECT_LT(cell_bytes(shape, naive()), cell_bytes(without, naive()) + 2 * cache);
  EXPECT_GE(shared_bytes(shape), kFloat * 32768 * 4096);
  Case every = shape;
  every.kv_heads = 0;
  EXPECT_GE(cell_bytes(every, naive()), cell_bytes(shape, naive()) + 3 * cache);
}

TEST(CallEstimate, MemoryOfALongPastIsAReasonToSkip) {
  Case shape = decode();
  shape.past = std::int64_t{1} << 40;
  Limits limits;
  limits.memory_bytes = std::int64_t{1} << 40;
  const Estimator estimator;
  EXPECT_NE(reason_to_skip(shape, naive(), estimator.estimate(shape, naive(), {}), limits)
                .find("needs about"),
            std::string::npos);
}

TEST(CallEstimate, FillingIsPaidInEachProcessAndLearned) {
  const Case shape = decode();
  const TimingPlan plan;
  Estimator estimator;
  const double fill = estimator.fill_seconds(shape, naive());
  EXPECT_GT(fill, 10 * estimator.forward_seconds(shape, naive()));
  EXPECT_GE(estimator.cell_seconds(shape, naive(), plan), kMinProcesses * fill);
  estimator.observe_fill(shape, naive(), 1e-9);
  EXPECT_NEAR(estimator.fill_seconds(shape, naive()), 1e-9, 1e-12);
  EXPECT_LT(estimator.cell_seconds(shape, naive(), plan), fill);
  Case none = shape;
  none.past = 0;
  EXPECT_EQ(estimator.fill_seconds(none, naive()), 0);
}

TEST(CallEstimate, TheGroupPaysForDrawingThePastAndCheckingAfterIt) {
  const Group after{decode(), {naive()}};
  Group near = after;
  near.shape.window = 1;  // nothing of the past is seen, but it is drawn all the same
  Group alone = near;
  alone.shape.past = 0;
  const Estimator estimator;
  const double drawn = 32768.0 * 4096 * 1e-8;
  EXPECT_GT(estimator.group_seconds(near, {}), estimator.group_seconds(alone, {}) + drawn);
  EXPECT_GT(estimator.group_seconds(after, {}), estimator.group_seconds(near, {}) + 1);
}

TEST(CallEstimate, ACallReadsItsWeightsAndWhatItSeesOfTheCache) {
  Case shape = decode();
  const std::int64_t weights = kFloat * (4096 * 4096 + 4096 * 2 * 1024 + 4096 * 4096 + 4096);
  const std::int64_t token = kFloat * 2 * 1024;
  EXPECT_EQ(bytes_to_read(shape), weights + 32768 * token);
  shape.window = 1024;
  EXPECT_EQ(bytes_to_read(shape), weights + 1023 * token);
  shape.window = 40000;
  EXPECT_EQ(bytes_to_read(shape), weights + 32768 * token);
  shape.batch = 3;
  shape.lengths = {1, 0, 1};
  EXPECT_EQ(bytes_to_read(shape), weights + 2 * 32768 * token);
}

TEST(CallEstimate, FewRowsDecode) {
  Case shape = decode();
  EXPECT_EQ(demand_of(shape), Demand::decode);
  shape.tokens = 4;
  EXPECT_EQ(demand_of(shape), Demand::decode);
  shape.tokens = 5;
  EXPECT_EQ(demand_of(shape), Demand::prefill) << "a chunk after a past is arithmetic again";
}

TEST(CallEstimate, LengthsCountTheirOwnRows) {
  Case full;
  full.batch = 4;
  full.tokens = 512;
  full.d_in = full.d_out = full.d_proj = 768;
  full.heads = 12;
  Case ragged = full;
  ragged.lengths = {512, 1, 1, 1};
  const Estimator estimator;
  EXPECT_LT(estimator.forward_seconds(ragged, naive()),
            0.5 * estimator.forward_seconds(full, naive()));
}

}  // namespace
}  // namespace headroom::plan::call_estimate_test
