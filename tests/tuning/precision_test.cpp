// A tuning file with candidates of several precisions: a layer gets none but its own.
#include <gtest/gtest.h>

#include <string>

#include "headroom/error.hpp"
#include "support/sample_tuning.hpp"
#include "tuning/predict.hpp"

namespace headroom {
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
  request.usable["tbb"] = {1, 0, {}, numbers.precision};
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

TEST(PrecisionTuning, WithoutOneTheFileDoesNotApply) {
  const tuning::Prediction found = predict(file(), request({Precision::bf16x3}));
  EXPECT_FALSE(found.best);
  EXPECT_NE(found.why_not.find("precision"), std::string::npos) << found.why_not;
}

TEST(PrecisionTuning, TimesOfAnotherUnitDoNotApply) {
  const auto best_by = [](const std::string& unit) {
    tuning::Request wanted = request({Precision::bf16x6});
    wanted.usable["tbb"].unit = unit;
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
}  // namespace headroom
