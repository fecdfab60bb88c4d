// Which candidate a shape that was not measured gets, and the rule without measurements.
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>

#include "attention/choice/auto_request.hpp"
#include "backends/backend.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"
#include "support/sample_tuning.hpp"
#include "tuning/distance.hpp"
#include "tuning/predict.hpp"
#include "tuning/rule.hpp"

namespace headroom::choice_test {
namespace {

using test::candidate;
using test::tuned_shape;
using tuning::TunedShape;

tuning::Request request_for(const Case& shape, const std::set<std::string>& usable,
                            int threads = 1) {
  tuning::Request request;
  request.shape = shape;
  request.threads = threads;
  request.isa = "avx2";
  for (const std::string& backend : usable) {
    const BackendFacts& facts = backend_facts(backend);
    const bool threaded = find_backend(backend).threaded;
    request.usable[backend] = {
        threaded ? threads : 1, facts.preference, facts.threads_pay_from, {{}}};
  }
  return request;
}

tuning::TuningFile file_of(const std::vector<TunedShape>& shapes) {
  return {HEADROOM_VERSION, tuning::this_machine(), shapes, {}};
}

constexpr Formulation kSplit = Formulation::split;
constexpr Formulation kFused = Formulation::fused;

TEST(Distance, CountsDoublings) {
  const Case shape = tuned_shape(64, 256);
  EXPECT_EQ(tuning::distance(shape, shape), 0);
  EXPECT_DOUBLE_EQ(tuning::distance(shape, tuned_shape(128, 256)), 1);
  EXPECT_DOUBLE_EQ(tuning::distance(shape, tuned_shape(16, 256)), 2);
  EXPECT_DOUBLE_EQ(tuning::distance(shape, tuned_shape(64, 1024)), 2);
  EXPECT_DOUBLE_EQ(tuning::distance(shape, tuned_shape(64, 256, 16)), 1);
}

TEST(Distance, IsSymmetricAndSeesOptions) {
  const Case shape = tuned_shape(64, 256);
  const auto changed = [&](auto change) {
    Case other = shape;
    change(other);
    EXPECT_EQ(tuning::distance(shape, other), tuning::distance(other, shape));
    return tuning::distance(shape, other);
  };
  EXPECT_DOUBLE_EQ(changed([](Case& s) { s.causal = false; }), 1);
  EXPECT_DOUBLE_EQ(changed([](Case& s) { s.d_proj = 0; }), 1);
  EXPECT_DOUBLE_EQ(changed([](Case& s) { s.dropout = 0.1; }), 3);
  EXPECT_DOUBLE_EQ(changed([](Case& s) { s.qkv_bias = true; }), 0.1);
  EXPECT_GT(changed([](Case& s) { s.batch = 2; }), 0.5);
}

TEST(Predict, TakesTheFastestOfTheShapeItself) {
  const auto file =
      file_of({{tuned_shape(16), {candidate("naive", kSplit, 2), candidate("xsimd", kFused, 1)}},
               {tuned_shape(17), {candidate("naive", kSplit, 1), candidate("xsimd", kFused, 9)}}});
  const auto found = predict(file, request_for(tuned_shape(16), {"naive", "xsimd"}));
  ASSERT_TRUE(found.best) << found.why_not;
  EXPECT_EQ(found.best->backend, "xsimd");
  EXPECT_EQ(found.best->formulation, kFused);
  EXPECT_EQ(found.distance, 0);
}

TEST(Predict, HearsBothSidesOfAShapeInTheMiddle) {
  // Half-way, the loss of naive (1.1 times) weighs less than that of xsimd (3 times).
  const auto file =
      file_of({{tuned_shape(16), {candidate("naive", kSplit, 1.1), candidate("xsimd", kSplit, 1)}},
               {tuned_shape(64), {candidate("naive", kSplit, 1), candidate("xsimd", kSplit, 3)}}});
  const auto pick_at = [&](std::int64_t tokens) {
    return predict(file, request_for(tuned_shape(tokens), {"naive", "xsimd"})).best->backend;
  };
  EXPECT_EQ(pick_at(16), "xsimd");
  EXPECT_EQ(pick_at(32), "naive");
  EXPECT_EQ(pick_at(64), "naive");
}

TEST(Predict, FollowsTheTrendFromAFarShapeToTheNearest) {
  // tbb is the faster one at 256 tokens, next to the 128 that are wanted, but loses so much on the
  // way to 32 that it has to be slower at 128 already. The weighted mean alone would take it.
  const auto file = file_of(
      {{tuned_shape(32), {candidate("xsimd", kSplit, 1), candidate("tbb", kSplit, 20)}},
       {tuned_shape(256), {candidate("xsimd", kSplit, 1.35), candidate("tbb", kSplit, 1)}}});
  const auto pick_at = [&](std::int64_t tokens) {
    return predict(file, request_for(tuned_shape(tokens), {"xsimd", "tbb"})).best->backend;
  };
  EXPECT_EQ(pick_at(32), "xsimd");
  EXPECT_EQ(pick_at(128), "xsimd");
  EXPECT_EQ(pick_at(256), "tbb");
}

Case after(std::int64_t past) {
  Case shape = tuned_shape(1);
  shape.past = past;
  return shape;
}

TEST(Distance, CountsThePastAsKeysAndGroupsAsHeads) {
  EXPECT_DOUBLE_EQ(tuning::distance(after(127), after(2047)), 2);
  Case window = after(2047);
  window.window = 128;
  EXPECT_DOUBLE_EQ(tuning::distance(after(127), window), 0) << "what no row sees costs nothing";
  Case groups = after(127);
  groups.kv_heads = 1;
  EXPECT_DOUBLE_EQ(tuning::distance(after(127), groups), 1);
}

TEST(Predict, AnswersPromptAndStepsApart) {
  const auto file =
      file_of({{tuned_shape(16), {candidate("xsimd", kSplit, 2), candidate("tbb", kSplit, 1)}},
               {after(1023), {candidate("xsimd", kSplit, 1), candidate("tbb", kSplit, 2)}}});
  const auto best = [&](const Case& shape) {
    const auto found = predict(file, request_for(shape, {"xsimd", "tbb"}));
    return found.best ? found.best->backend : found.why_not;
  };
  Case wanted = after(60);
  wanted.tokens = 4;
  EXPECT_LT(tuning::distance(wanted, tuned_shape(16)), tuning::distance(wanted, after(1023)));
  EXPECT_EQ(best(wanted), "xsimd") << "a step after it is the nearer question";
  EXPECT_EQ(best(tuned_shape(16)), "tbb");
  EXPECT_GT(tuning::distance(tuned_shape(4), after(1023)), tuning::kFarthest);
  EXPECT_EQ(best(tuned_shape(4)), "tbb") << "no step is near enough";
}

TEST(Predict, PassesOverWhatCannotRun) {
  const auto file =
      file_of({{tuned_shape(16),
                {candidate("tbb", kFused, 1, 2, "avx2"), candidate("tbb", kSplit, 3, 1, "avx2"),
                 candidate("xsimd", kSplit, 2, 1, "avx2"), candidate("naive", kFused, 4)}}});
  const auto best = [&](const tuning::Request& request) {
    const auto found = predict(file, request);
    return found.best ? found.best->backend + "/" + std::string(to_string(found.best->formulation))
                      : found.why_not;
  };
  const std::set<std::string> all{"tbb", "xsimd", "naive"};
  EXPECT_EQ(best(request_for(tuned_shape(16), all, 2)), "tbb/fused");
  EXPECT_EQ(best(request_for(tuned_shape(16), all, 1)), "xsimd/split");
  EXPECT_EQ(best(request_for(tuned_shape(16), {"tbb"}, 1)), "tbb/split");
  EXPECT_EQ(best(request_for(tuned_shape(16), {"xsimd"}, 8)), "xsimd/split");
  auto fused = request_for(tuned_shape(16), all, 1);
  fused.formulation = kFused;
  EXPECT_EQ(best(fused), "naive/fused");
}

TEST(Predict, SaysWhyAFileDoesNotApply) {
  const auto file = file_of(
      {{tuned_shape(16),
        {candidate("tbb", kFused, 1, 2, "avx2"), candidate("xsimd", kSplit, 2, 1, "avx2")}}});
  const auto why = [&](const tuning::Request& request) { return predict(file, request).why_not; };
  const std::set<std::string> all{"tbb", "xsimd"};
  EXPECT_EQ(why(request_for(tuned_shape(16), all, 2)), "");
  EXPECT_NE(why(request_for(tuned_shape(16), all, 3)).find("3 threads"), std::string::npos);
  EXPECT_NE(why(request_for(tuned_shape(16), {"onednn"}, 2)).find("no time"), std::string::npos);
  EXPECT_NE(why(request_for(tuned_shape(16'000), all, 2)).find("doublings"), std::string::npos);
  auto other_isa = request_for(tuned_shape(16), all, 2);
  other_isa.isa = "avx512";
  EXPECT_NE(why(other_isa).find("avx512"), std::string::npos);
}

TEST(Rule, GoesByWorkAndThreads) {
  const Case small = tuned_shape(1);
  const Case large = tuned_shape(128, 768, 12);
  ASSERT_LT(small.flops().total(), *backend_facts("tbb").threads_pay_from);
  ASSERT_GT(large.flops().total(), *backend_facts("tbb").threads_pay_from);
  const auto backend = [](const Case& shape, const std::set<std::string>& usable, int threads) {
    return choose_by_rule(request_for(shape, usable, threads)).backend;
  };
  const std::set<std::string> all{"naive", "autovec", "xsimd", "onednn", "tbb"};
  EXPECT_EQ(backend(small, all, 2), "xsimd");
  EXPECT_EQ(backend(large, all, 1), "xsimd");
  EXPECT_EQ(backend(large, all, 2), "tbb");
  EXPECT_EQ(backend(small, {"naive", "onednn", "tbb"}, 2), "tbb");
  EXPECT_EQ(backend(large, {"naive", "autovec", "onednn"}, 2), "onednn");
  EXPECT_EQ(backend(large, {"naive", "autovec"}, 2), "autovec");
  EXPECT_EQ(backend(large, {"naive"}, 2), "naive");
  EXPECT_THROW(backend(large, {}, 2), Unavailable);
}

TEST(Rule, KeepsTheFormulationThatWasAskedFor) {
  auto request = request_for(tuned_shape(1), {"naive"});
  EXPECT_EQ(choose_by_rule(request).formulation, kFused);
  request.formulation = Formulation::wrapper;
  EXPECT_EQ(choose_by_rule(request).formulation, Formulation::wrapper);
}

// With the emulator every machine has products of parts, so f32 has a rival to be kept from.
TEST(AutoRequest, WhoNamesOneIsComputedInThatAlone) {
  if (!find_backend("xsimd").available) GTEST_SKIP() << "xsimd is not in this build";
  AttentionOptions options;
  options.unit = Unit::emulated;
  const auto precisions = [&](const std::string& backend) {
    std::set<Precision> all;
    const tuning::Request request = auto_request(test::tuned_shape(64), options, 1);
    for (const tuning::Computed& computed : request.usable.at(backend).computed) {
      all.insert(computed.precision);
    }
    return all;
  };
  EXPECT_EQ(precisions("xsimd"), (std::set{Precision::f32}));
  options.precision = Precision::bf16x6;
  EXPECT_EQ(precisions("xsimd"), (std::set{Precision::bf16x6}));
  options.precision.reset();
  EXPECT_GT(precisions("xsimd").size(), 1U);
}

}  // namespace
}  // namespace headroom::choice_test
