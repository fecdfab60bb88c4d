// headroom pick among precisions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "pick/lines.hpp"
#include "pick/pick.hpp"
#include "reference/limits.hpp"
#include "support/sample_peers.hpp"
#include "support/sample_results.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::precision_test {
namespace {

using pick::Filters;
using record::CellResult;
using test::sample_folder;

// Nine samples that scatter by 1 % around a time.
std::vector<double> around(double seconds) { return test::around(seconds, 0.0025); }

CellResult cell(Numbers numbers, double seconds, double nrmse) {
  CellResult result = test::sample_result("naive");
  result.cell.numbers = numbers;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  result = test::with_time(std::move(result), around(seconds));
  result.error->nrmse = nrmse;
  result.error->limits = reference::limits_of(numbers);
  return result;
}

record::ResultsFolder folder() {
  return sample_folder(
      "folder", {cell({}, 4e-3, 3e-7), cell({Precision::bf16x6}, 2e-3, 2e-7),
                 cell({Precision::bf16x3}, 1.5e-3, 5e-6), cell({Precision::bf16}, 1e-3, 2e-3),
                 cell({Precision::bf16, Dtype::bf16}, 5e-4, 3e-3)});
}

Precision picked(const Filters& filters) {
  const record::ResultsFolder results = folder();
  return pick::pick(results, {}, filters).choice().numbers.precision;
}

TEST(PrecisionPick, WithoutAnErrorItIsAsAccurateAsF32) {
  EXPECT_EQ(picked({}), Precision::bf16x6);
  EXPECT_EQ(picked({.precisions = {Precision::f32}}), Precision::f32);
}

TEST(PrecisionPick, AnErrorChooses) {
  EXPECT_EQ(picked({.max_error = 1e-2}), Precision::bf16);
  EXPECT_EQ(picked({.max_error = 1e-5}), Precision::bf16x3);
  EXPECT_EQ(picked({.max_error = 1e-6}), Precision::bf16x6);
  EXPECT_EQ(picked({.precisions = {Precision::bf16}}), Precision::bf16);
}

// Two parts of fp16 are as accurate as three of bfloat16.
TEST(PrecisionPick, TheFastestOfThoseAsAccurateAsF32Wins) {
  record::ResultsFolder results = sample_folder(
      "folder", {cell({}, 4e-3, 3e-7), cell({Precision::bf16x6}, 2e-3, 2e-7),
                 cell({Precision::fp16x3}, 1.3e-3, 2e-7), cell({Precision::bf16x3}, 1e-3, 5e-6)});
  EXPECT_EQ(pick::pick(results, {}, {}).choice().numbers.precision, Precision::fp16x3);
}

// f32 has no unit, so no unit keeps it out.
TEST(PrecisionPick, AUnitKeepsOutWhatOthersMultiplied) {
  const auto on = [](const char* unit, Numbers numbers, double seconds) {
    CellResult result = cell(numbers, seconds, 2e-7);
    result.unit = unit;
    return result;
  };
  const record::ResultsFolder both =
      sample_folder("folder", {cell({}, 4e-3, 3e-7), on("amx", {Precision::bf16x6}, 2e-3),
                               on("emulated", {Precision::bf16x9}, 1e-3)});
  const auto picked_on = [&](const char* unit) {
    return pick::pick(both, {}, {.unit = unit}).choice().numbers.precision;
  };
  EXPECT_EQ(picked_on(""), Precision::bf16x9);
  EXPECT_EQ(picked_on("emulated"), Precision::bf16x9);
  EXPECT_EQ(picked_on("amx"), Precision::bf16x6);
  EXPECT_EQ(picked_on("avx512_bf16"), Precision::f32);
  try {
    pick::pick(both, {}, {.unit = "avx512_bf16", .precisions = {Precision::bf16x6}});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("--unit 1"), std::string::npos) << error.what();
  }
}

TEST(PrecisionPick, AnErrorThatNoneReachesIsSaid) {
  try {
    picked({.max_error = 1e-9});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("--max-error 4"), std::string::npos) << error.what();
  }
}

TEST(PrecisionPick, AnswersForOneDtype) {
  const record::ResultsFolder results = folder();
  Filters filters{.max_error = 1e-2};
  filters.stored = {{Precision::f32, Dtype::bf16}};
  const pick::Pick choice = pick::pick(results, {}, filters);
  EXPECT_EQ(choice.choice().numbers, (Numbers{Precision::bf16, Dtype::bf16}));
  const record::ResultsFolder without = sample_folder("folder", {cell({}, 1e-3, 1e-7)});
  EXPECT_THROW(pick::pick(without, {}, filters), InvalidArgument);
}

CellResult stored_cell(Storage weights, double seconds, double storing) {
  CellResult result = cell({Precision::f32, Dtype::f32, weights}, seconds, 1e-6);
  result.storage_error = storing;
  return result;
}

// Eight bits gain, four are too far away or gain nothing.
TEST(PrecisionPick, SeveralStoragesAreAChoiceByTheWholeError) {
  const record::ResultsFolder results =
      sample_folder("folder", {cell({}, 4e-3, 1e-6), stored_cell(Storage::q8, 1e-3, 8e-3),
                               stored_cell(Storage::q4, 5e-4, 1e-1)});
  Filters filters;
  for (const auto weights : {std::optional<Storage>(), {Storage::q8}, {Storage::q4}}) {
    if (!weights) filters.stored.clear();
    filters.stored.push_back({Precision::f32, Dtype::f32, weights});
  }
  const auto picked_within = [&](double error) {
    filters.max_error = error;
    return pick::pick(results, {}, filters).choice().numbers.stored_weights();
  };
  EXPECT_EQ(picked_within(1e-3), Storage::f32);
  EXPECT_EQ(picked_within(0.0080005), Storage::f32);  // 8e-3 and 1e-6 are more
  EXPECT_EQ(picked_within(2e-2), Storage::q8);
  EXPECT_EQ(picked_within(0.2), Storage::q4);
  filters.max_error = 2e-2;
  const std::string text = pick::to_text(pick::pick(results, {}, filters));
  for (const char* part :
       {"f32 with weights of q8                       split/naive f32, 1", "  faster",
        "f32 with weights of q4                       storing alone costs 1.0e-01",
        "options.weights_dtype = headroom::Storage::q8;", " 8.0e-03 "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(PrecisionPick, SaysWhereFewerBitsLose) {
  const record::ResultsFolder results =
      sample_folder("folder", {cell({}, 1e-3, 1e-6), stored_cell(Storage::q8, 2e-3, 8e-3)});
  Filters filters{.max_error = 1e-1};
  filters.stored.push_back({Precision::f32, Dtype::f32, Storage::q8});
  const pick::Pick found = pick::pick(results, {}, filters);
  EXPECT_EQ(found.choice().numbers, Numbers{});
  EXPECT_NE(pick::to_text(found).find("slower: nothing is gained"), std::string::npos)
      << pick::to_text(found);
  ASSERT_EQ(found.shapes.size(), 1U);
  EXPECT_EQ(found.shapes.front().storages.size(), 2U);
}

TEST(PrecisionPick, WhatIsEmittedCarriesIt) {
  const record::ResultsFolder results = folder();
  Filters filters{.max_error = 1e-2};
  filters.stored = {{Precision::f32, Dtype::bf16}};
  const pick::Pick choice = pick::pick(results, {}, filters);
  const std::vector<std::string> lines = pick::cpp_lines(choice.choice());
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[3], "options.precision = headroom::Precision::bf16;");
  EXPECT_EQ(lines[4], "options.dtype = headroom::Dtype::bf16;");
  const std::string cmake = pick::to_cmake(choice);
  EXPECT_NE(cmake.find("HEADROOM_PICK_PRECISION=headroom::Precision::bf16\n"), std::string::npos);
  EXPECT_NE(cmake.find("HEADROOM_PICK_DTYPE=headroom::Dtype::bf16\n"), std::string::npos);
  EXPECT_NE(cmake.find("HEADROOM_PICK_WEIGHTS_DTYPE=headroom::Storage::bf16\n"), std::string::npos);
  EXPECT_NE(cmake.find("HEADROOM_PICK_CACHE_DTYPE=headroom::Storage::bf16)"), std::string::npos);
  EXPECT_NE(pick::to_text(choice).find("bf16-bf16"), std::string::npos);
  EXPECT_NE(pick::to_text(choice).find("nrmse is at most 0.003"), std::string::npos)
      << pick::to_text(choice);
}

TEST(PrecisionPick, F32NeedsNoMoreLinesThanBefore) {
  const record::ResultsFolder results = folder();
  const pick::Pick choice = pick::pick(results, {}, {.precisions = {Precision::f32}});
  EXPECT_EQ(pick::cpp_lines(choice.choice()).size(), 3U);
  EXPECT_EQ(pick::to_text(choice).find("numbers"), std::string::npos);
}

TEST(PrecisionPick, ATuningFileOfItKeepsEveryCandidatesNumbers) {
  const record::ResultsFolder results = folder();
  const pick::Pick choice = pick::pick(results, {}, {.max_error = 1e-2});
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(pick::to_json(choice));
  json["headroom"] = "1.0";
  const tuning::TuningFile file = tuning::parse_tuning("file", json.dump());
  ASSERT_EQ(file.shapes.front().candidates.size(), 4U);
  EXPECT_EQ(file.shapes.front().candidates.front().numbers.precision, Precision::bf16);
  EXPECT_EQ(file.shapes.front().candidates.back().numbers, Numbers{});
}

}  // namespace
}  // namespace headroom::precision_test
