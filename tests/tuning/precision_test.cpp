// A tuning file with candidates of several precisions: a layer gets none but its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headroom/error.hpp"
#include "support/sample_tuning.hpp"
#include "tuning/predict.hpp"
#include "tuning/rule.hpp"

namespace headroom::precision_test {
namespace {

using tuning::Candidate;

Candidate with(Candidate candidate, Numbers numbers) {
  candidate.numbers = numbers;
  return candidate;
}

tuning::TuningFile file() {
  const Candidate f32 = test::candidate("tbb", Formulation::split, 4e-3);
  return {
      HEADROOM_VERSION,
      tuning::this_machine(),
      {{test::tuned_shape(64),
        {f32, with(test::candidate("tbb", Formulation::fused, 1e-3), {Precision::bf16}),
         with(test::candidate("tbb", Formulation::wrapper, 2e-3), {Precision::bf16x6}),
         with(test::candidate("tbb", Formulation::fused, 5e-4), {Precision::bf16, Dtype::bf16})}}},
      {}};
}

tuning::Request request(Numbers numbers) {
  tuning::Request request;
  request.shape = test::tuned_shape(64);
  request.isa = "avx2";
  request.stored = numbers.as_stored();
  request.usable["tbb"].computed = {{numbers.precision}};
  return request;
}

TEST(PrecisionTuning, EachNumbersGetTheirOwnCandidate) {
  const auto formulation = [](Numbers numbers) {
    const tuning::Prediction found = predict(file(), request(numbers));
    return found.best ? found.best->formulation : Formulation{};
  };
  EXPECT_EQ(formulation({}), Formulation::split) << "a layer of f32 must never get bf16";
  EXPECT_EQ(formulation({Precision::bf16x6}), Formulation::wrapper);
  EXPECT_EQ(predict(file(), request({Precision::bf16})).best->seconds, 1e-3);
  EXPECT_EQ(predict(file(), request({Precision::bf16, Dtype::bf16})).best->seconds, 5e-4);
}

// What `auto` asks where the precision is left to it.
tuning::Request request_like_f32() {
  tuning::Request request = precision_test::request({});
  request.usable["tbb"].computed = {{Precision::f32}, {Precision::bf16x6}};
  return request;
}

TEST(PrecisionTuning, WhoNamesNoneGetsTheFastestThatIsAsExactAsF32) {
  const tuning::Prediction found = predict(file(), request_like_f32());
  ASSERT_TRUE(found.best) << found.why_not;
  EXPECT_EQ(found.best->numbers.precision, Precision::bf16x6) << "twice as fast as f32";
  EXPECT_EQ(found.best->formulation, Formulation::wrapper);
  EXPECT_EQ(found.precisions, (std::set{Precision::f32, Precision::bf16x6}))
      << "bf16 is faster still, and no rival";
}

TEST(PrecisionTuning, F32IsTakenWhereItIsFaster) {
  tuning::TuningFile slow_parts = file();
  slow_parts.shapes.front().candidates[2].seconds = 5e-3;
  const tuning::Prediction found = predict(slow_parts, request_like_f32());
  ASSERT_TRUE(found.best) << found.why_not;
  EXPECT_EQ(found.best->numbers.precision, Precision::f32);
}

// Rows, and what a backend with tiles of both kinds could compute with.
tuning::RulePrecision by_rule(std::int64_t rows, std::vector<tuning::Computed> computed) {
  tuning::Usable usable;
  usable.computed = std::move(computed);
  return precision_by_rule(test::tuned_shape(rows), usable);
}

TEST(PrecisionRule, TakesPartsWhereTheyPay) {
  const std::vector<tuning::Computed> tiles{
      {Precision::f32}, {Precision::fp16x3, "amx", 21}, {Precision::bf16x6, "amx", 21}};
  EXPECT_EQ(by_rule(21, tiles).precision, Precision::fp16x3);
  EXPECT_NE(by_rule(21, tiles).reason.find("amx multiplies fp16x3 faster"), std::string::npos)
      << by_rule(21, tiles).reason;
  EXPECT_EQ(by_rule(20, tiles).precision, Precision::f32);
  EXPECT_NE(by_rule(20, tiles).reason.find("from 21 rows on, and calls have at most 20"),
            std::string::npos)
      << by_rule(20, tiles).reason;
}

TEST(PrecisionRule, TakesF32WhereNothingPays) {
  EXPECT_EQ(by_rule(500, {{}}).precision, Precision::f32);
  EXPECT_NE(by_rule(500, {{}}).reason.find("nothing else here"), std::string::npos);
  const std::vector<tuning::Computed> emulated{{}, {Precision::bf16x6, "emulated", {}}};
  EXPECT_EQ(by_rule(500, emulated).precision, Precision::f32);
  EXPECT_NE(by_rule(500, emulated).reason.find("emulated is slower"), std::string::npos);
}

TEST(PrecisionTuning, WithoutOneTheFileDoesNotApply) {
  const tuning::Prediction found = predict(file(), request({Precision::bf16x3}));
  EXPECT_FALSE(found.best);
  EXPECT_NE(found.why_not.find("precision"), std::string::npos) << found.why_not;
}

TEST(PrecisionTuning, TimesOfAnotherUnitDoNotApply) {
  const auto best_by = [](const std::string& unit) {
    tuning::Request wanted = request({Precision::bf16x6});
    wanted.usable["tbb"].computed.front().unit = unit;
    return predict(file(), wanted).best.has_value();
  };
  EXPECT_TRUE(best_by("none"));
  EXPECT_FALSE(best_by("amx"));
}

TEST(PrecisionTuning, AFileKeepsThemAndTheUnit) {
  nlohmann::ordered_json json =
      test::tuning_json({{test::tuned_shape(64), {test::candidate("tbb", Formulation::split, 1)}}});
  const auto numbers = [&] {
    return tuning::parse_tuning("file", json.dump()).shapes.front().candidates.front().numbers;
  };
  EXPECT_EQ(numbers(), Numbers{});
  nlohmann::ordered_json& candidate = json["shapes"][0]["candidates"][0];
  candidate["unit"] = "amx";
  EXPECT_EQ(tuning::parse_tuning("file", json.dump()).shapes.front().candidates.front().unit,
            "amx");
  candidate["precision"] = "bf16x3";
  candidate["dtype"] = "bf16";
  EXPECT_EQ(numbers(), (Numbers{Precision::bf16x3, Dtype::bf16}));
  for (const char* field : {"unit", "precision", "dtype"}) {
    nlohmann::ordered_json lacking = json;
    lacking["shapes"][0]["candidates"][0].erase(field);
    EXPECT_THROW(tuning::parse_tuning("file", lacking.dump()), FileError) << field;
  }
  candidate["precision"] = "bf17";
  EXPECT_THROW(numbers(), FileError);
}

}  // namespace
}  // namespace headroom::precision_test
