// Cells of several precisions in records, rankings and reports.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "judge/compare.hpp"
#include "judge/credible_roofs.hpp"
#include "judge/noise.hpp"
#include "judge/peers.hpp"
#include "judge/ranking.hpp"
#include "measure/group/cell_result.hpp"
#include "record/peaks.hpp"
#include "record/result.hpp"
#include "report/findings/findings.hpp"
#include "report/words/conclusion.hpp"
#include "report/words/sentences.hpp"
#include "report/words/wording.hpp"
#include "show/export.hpp"
#include "show/results_table.hpp"
#include "support/sample_peers.hpp"
#include "support/sample_results.hpp"

namespace headroom::precision_test {
namespace {

using record::CellResult;
using test::sample_folder;

CellResult cell(const std::string& backend, Numbers numbers, double seconds, double nrmse,
                Formulation formulation = Formulation::split) {
  CellResult result = test::sample_result(backend, formulation);
  result.cell.numbers = numbers;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  result = test::with_time(std::move(result), test::around(seconds));
  result.error->nrmse = nrmse;
  result.error->limits = reference::limits_of(numbers);
  return result;
}

constexpr Numbers kF32{};
constexpr Numbers kSix{Precision::bf16x6, Dtype::f32};
constexpr Numbers kThree{Precision::bf16x3, Dtype::f32};
constexpr Numbers kOne{Precision::bf16, Dtype::f32};
constexpr Numbers kStored{Precision::bf16, Dtype::bf16};
constexpr Numbers kFewBits{Precision::f32, Dtype::f32, Storage::q8};
constexpr Numbers kBytes{Precision::f32, Dtype::f32, std::nullopt, Storage::q8};

TEST(PrecisionRecord, ALineKeepsIt) {
  for (const Numbers& numbers : {kF32, kSix, kStored, kFewBits, kBytes}) {
    CellResult written = cell("tbb", numbers, 1e-3, 1e-7);
    written.unit = numbers.precision == Precision::f32 ? "none" : "amx";
    if (numbers.weights) {
      written.storage_error = 0.0078125;
      written.attention_shift = {0.0625, 0.00048828125};
    }
    const CellResult read = record::from_json(record::to_json(written));
    EXPECT_EQ(read.cell.numbers, numbers) << written.cell.id;
    EXPECT_EQ(read.unit, written.unit);
    EXPECT_EQ(read.storage_error, written.storage_error);
    EXPECT_EQ(read.error->limits.nrmse, reference::limits_of(numbers).nrmse);
    ASSERT_EQ(read.attention_shift.has_value(), written.attention_shift.has_value());
    if (!read.attention_shift) continue;
    EXPECT_EQ(read.attention_shift->moved, written.attention_shift->moved);
    EXPECT_EQ(read.attention_shift->divergence, written.attention_shift->divergence);
  }
}

TEST(PrecisionRecord, ALineNamesThem) {
  nlohmann::ordered_json line = record::to_json(cell("tbb", kF32, 1e-3, 1e-7));
  line["dtype"] = "f16";
  EXPECT_THROW(record::from_json(line), InvalidArgument);
  line["dtype"] = "f32";
  line["precision"] = "bf16x2";
  EXPECT_THROW(record::from_json(line), InvalidArgument);
}

TEST(PrecisionWords, SayWhatWeightsAreStoredAs) {
  report::ShapeFindings shape;
  shape.shape = test::sample_shape();
  const std::string plain = report::name_of(shape);
  shape.numbers = kFewBits;
  EXPECT_EQ(report::name_of(shape), plain + ", weights stored as q8");
  shape.numbers = kStored;
  shape.numbers.weights = Storage::q4;
  EXPECT_EQ(report::name_of(shape), plain + ", as exact as bf16-bf16, weights stored as q4");
}

TEST(PrecisionRecord, ContestsAreOfOneAccuracyAndOneDtype) {
  const std::string f32 = cell("tbb", kF32, 1, 1e-7).contest();
  EXPECT_EQ(f32, test::sample_shape().id());
  EXPECT_EQ(cell("tbb", kSix, 1, 1e-7).contest(), f32);
  EXPECT_EQ(cell("tbb", kThree, 1, 1e-5).contest(), f32 + " bf16x3");
  EXPECT_EQ(cell("tbb", kOne, 1, 1e-3).contest(), f32 + " bf16");
  EXPECT_EQ(cell("tbb", kStored, 1, 1e-3).contest(), f32 + " bf16-bf16");
  EXPECT_EQ(cell("tbb", kFewBits, 1, 1e-7).contest(), f32 + " f32-wq8");
}

TEST(PrecisionRanking, ALessExactCellBeatsNoOther) {
  const std::vector<CellResult> all{cell("tbb", kF32, 3e-3, 3e-7), cell("tbb", kSix, 2e-3, 2e-7),
                                    cell("tbb", kOne, 1e-3, 2e-3),
                                    cell("onednn", kOne, 2e-3, 2e-3)};
  std::vector<const CellResult*> refs;
  for (const CellResult& each : all) refs.push_back(&each);
  const auto ranked = judge::rank(refs, 0);
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].front().result->cell.numbers, kSix);
  EXPECT_EQ(ranked[0].size(), 2U);
  EXPECT_EQ(ranked[1].front().result->cell.backend, "tbb");
}

TEST(PrecisionRanking, WrapperIsOfTheSameNumbers) {
  const std::vector<CellResult> all{cell("tbb", kF32, 3e-3, 3e-7, Formulation::wrapper),
                                    cell("tbb", kOne, 2e-3, 2e-3, Formulation::wrapper),
                                    cell("tbb", kOne, 1e-3, 2e-3)};
  std::vector<const CellResult*> refs{&all[0], &all[1], &all[2]};
  EXPECT_EQ(judge::wrapper_of(refs, all[2]), &all[1]);
  refs = {&all[0], &all[2]};
  EXPECT_EQ(judge::wrapper_of(refs, all[2]), nullptr);
}

TEST(PrecisionCompare, PairsOnlyEqualOnes) {
  const record::ResultsFolder base =
      sample_folder("base", {cell("tbb", kF32, 2e-3, 3e-7), cell("tbb", kOne, 2e-3, 2e-3)});
  const record::ResultsFolder next =
      sample_folder("new", {cell("tbb", kF32, 2e-3, 3e-7), cell("tbb", kStored, 1e-3, 2e-3)});
  const judge::FolderComparison comparison = judge::compare_folders(base, next, {});
  EXPECT_EQ(comparison.compared(), 1U);
  EXPECT_EQ(comparison.cells.size(), 3U);
}

TEST(PrecisionPeers, StandBesideOursOfTheSameNumbers) {
  CellResult rival = cell("pytorch", kStored, 2e-3, 2e-3);
  rival.peer = true;
  record::ResultsFolder folder = sample_folder(
      "peers", {cell("tbb", kF32, 1e-4, 3e-7), cell("tbb", kStored, 1e-3, 2e-3), rival});
  folder.environment["sweep"]["compared_with"] = {folder.results[0].cell.id,
                                                  folder.results[1].cell.id};
  const std::vector<judge::PeerBlock> blocks = judge::peer_blocks(folder);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks.front().ours, &folder.results[1]);
}

// ---- roofs ----

TEST(PrecisionRoof, OfPartsIsAShareOfWholeProducts) {
  record::Peaks peaks;
  peaks.fma_gflops[2] = 200;
  EXPECT_EQ(peaks.product_roof({Precision::f32, Dtype::f32}, 2), 200);
  EXPECT_EQ(peaks.product_roof({Precision::bf16, Dtype::f32}, 2), std::nullopt);
  peaks.product_gflops[{Precision::bf16, Dtype::f32}][2] = 2400;
  EXPECT_EQ(peaks.product_roof({Precision::bf16, Dtype::f32}, 2), 2400);
  EXPECT_EQ(peaks.product_roof({Precision::bf16x6, Dtype::f32}, 2), 400);
  EXPECT_EQ(peaks.product_roof({Precision::bf16x3, Dtype::f32}, 2), 800);
  EXPECT_EQ(peaks.product_roof({Precision::bf16x3, Dtype::f32}, 1), std::nullopt);
  EXPECT_EQ(peaks.product_roof({Precision::bf16, Dtype::bf16}, 2), 2400);
  EXPECT_EQ(peaks.product_roof({Precision::bf16x3, Dtype::bf16}, 2), 1200);
  EXPECT_EQ(peaks.product_roof({Precision::bf16x6, Dtype::bf16}, 2), 800);
  EXPECT_EQ(peaks.product_roof({Precision::bf16x9, Dtype::bf16}, 2), 800);
  peaks.product_gflops[{Precision::bf16x3, Dtype::f32}][2] = 700;
  EXPECT_EQ(peaks.product_roof({Precision::bf16x3, Dtype::f32}, 2), 700);
  peaks.product_gflops[{Precision::bf16x6, Dtype::bf16}][2] = 750;
  EXPECT_EQ(peaks.product_roof({Precision::bf16x6, Dtype::bf16}, 2), 750);
  const nlohmann::ordered_json environment{{"peaks", to_json(peaks)}};
  EXPECT_EQ(record::peaks_of(environment).product_gflops, peaks.product_gflops);
}

TEST(PrecisionRoof, AStrangeOneIsLeftOut) {
  const auto peaks = record::peaks_of(nlohmann::ordered_json::parse(
      R"({"peaks": {"gflops_by_precision_and_threads": {"bf17": {"1": 5}, "bf16": {"x": 1, "2": -3}}}})"));
  EXPECT_TRUE(peaks.product_gflops.empty());
  EXPECT_TRUE(record::peaks_of(nlohmann::ordered_json::object()).product_gflops.empty());
}

TEST(PrecisionRoof, ACellIsHeldToItsOwnAndNeverToThatOfF32) {
  record::Peaks peaks;
  peaks.fma_gflops[1] = 100;
  CellResult fast = cell("tbb", kOne, 1e-3, 2e-3);
  fast.control = record::Control{"avx512", 1, std::vector<double>(9, 100.0)};
  fast.time.samples = test::around(fast.shape.flops().total() / 500e9);  // five times the f32 rate
  measure::rate_samples(fast, peaks, 1);
  EXPECT_FALSE(fast.peak_fraction);
  EXPECT_FALSE(fast.tile_fraction);
  EXPECT_EQ(judge::beyond_peak(fast), "");
  peaks.product_gflops[{Precision::bf16, Dtype::f32}][1] = 1000;
  measure::rate_samples(fast, peaks, 1);
  ASSERT_TRUE(fast.peak_fraction);
  EXPECT_NEAR(*fast.peak_fraction, 0.5, 0.01);
  peaks.product_gflops[{Precision::bf16, Dtype::f32}][1] = 300;
  measure::rate_samples(fast, peaks, 1);
  EXPECT_EQ(judge::beyond_peak(fast), "");
  peaks.product_gflops[{Precision::bf16, Dtype::f32}][1] = 200;
  measure::rate_samples(fast, peaks, 1);
  EXPECT_NE(judge::beyond_peak(fast).find("products measured for bf16"), std::string::npos);
  fast.cell.numbers = kF32;
  measure::rate_samples(fast, peaks, 1);
  EXPECT_NE(judge::beyond_peak(fast).find("FMA rate"), std::string::npos);
}

// ---- what a report says ----

record::ResultsFolder all_precisions() {
  return sample_folder("folder",
                       {cell("naive", kF32, 9e-3, 3e-7), cell("tbb", kF32, 4e-3, 3e-7),
                        cell("tbb", kSix, 2e-3, 2e-7), cell("tbb", kThree, 3e-3, 5e-6),
                        cell("tbb", kOne, 1e-3, 2e-3), cell("onednn", kOne, 1.5e-3, 2e-3)});
}

std::string text_of(const report::Prose& prose) {
  std::string text;
  for (const auto& part : prose) text += part.text;
  return text;
}

TEST(PrecisionReport, TheFrontHasNoneThatAnotherBeats) {
  const record::ResultsFolder folder = all_precisions();
  const report::Findings findings = report::find_out(folder);
  ASSERT_EQ(findings.precisions.size(), 1U);
  const auto& points = findings.precisions.front().points;
  ASSERT_EQ(points.size(), 4U);
  EXPECT_FALSE(points[0].on_front) << "bf16x6 is as exact and faster than f32";
  EXPECT_TRUE(points[1].on_front) << "bf16x6";
  EXPECT_FALSE(points[2].on_front) << "bf16x3 is slower than bf16x6";
  EXPECT_TRUE(points[3].on_front) << "bf16 is the fastest";
  EXPECT_EQ(points[3].cell->cell.backend, "tbb") << "at its fastest";
  const std::string text = text_of(report::precision_sentence(findings.precisions.front()));
  EXPECT_NE(text.find("bf16x6: f32 accuracy, 2.00 × faster"), std::string::npos) << text;
  EXPECT_NE(text.find("bf16: error 2.0e-03, 4.00 × faster"), std::string::npos) << text;
  EXPECT_NE(text.find("bf16x6 and bf16 (the Pareto front)"), std::string::npos) << text;
}

TEST(PrecisionReport, WhatIsNoFasterThanF32IsNotOnTheFront) {
  const record::ResultsFolder folder =
      sample_folder("folder", {cell("tbb", kF32, 1e-3, 3e-7), cell("tbb", kSix, 1e-3, 2e-7),
                               cell("tbb", kOne, 1e-3, 2e-3)});
  const report::Findings findings = report::find_out(folder);
  const auto& points = findings.precisions.front().points;
  EXPECT_TRUE(points[0].on_front);
  EXPECT_FALSE(points[1].on_front);
  EXPECT_FALSE(points[2].on_front);
}

// What is stored in fewer bits stands beside precisions, with the error of storing.
TEST(PrecisionReport, StoragesAreOnTheFrontTheyAreOn) {
  std::vector<CellResult> cells{cell("tbb", kF32, 9e-3, 3e-7)};
  const auto add = [&](const Numbers& numbers, double seconds, double nrmse, double storing) {
    cells.push_back(cell("tbb", numbers, seconds, nrmse));
    cells.back().storage_error = storing;
  };
  constexpr Numbers kFour{Precision::f32, Dtype::f32, Storage::q4};
  constexpr Numbers kEightAsBytes{Precision::int8, Dtype::f32, Storage::q8};
  add(kFewBits, 4e-3, 3e-7, 6e-3);
  add(kEightAsBytes, 2e-3, 8e-3, 6e-3);
  add(kFour, 3e-3, 3e-7, 1e-1);
  const record::ResultsFolder folder = sample_folder("folder", std::move(cells));
  const report::Findings findings = report::find_out(folder);
  ASSERT_EQ(findings.precisions.size(), 1U);
  const auto& points = findings.precisions.front().points;
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[1].cell->cell.numbers, kFewBits);
  EXPECT_NEAR(points[1].error(), 6e-3, 1e-6);
  EXPECT_NEAR(points[2].error(), 1.4e-2, 1e-6) << "8 and 6 thousandths, which at worst add up";
  EXPECT_TRUE(points[0].on_front);
  EXPECT_TRUE(points[1].on_front);
  EXPECT_TRUE(points[2].on_front);
  EXPECT_FALSE(points[3].on_front) << "bytes are faster than q4 and more exact";
  const std::string text = text_of(report::precision_sentence(findings.precisions.front()));
  EXPECT_NE(text.find("f32-wq8: error 6.0e-03, 2.25 × faster"), std::string::npos) << text;
  EXPECT_NE(text.find("f32, f32-wq8 and int8-wq8 (the Pareto front)"), std::string::npos) << text;
}

TEST(PrecisionReport, WithoutF32NothingIsSaid) {
  const record::ResultsFolder folder =
      sample_folder("folder", {cell("tbb", kSix, 2e-3, 2e-7), cell("tbb", kOne, 1e-3, 2e-3)});
  const report::Findings findings = report::find_out(folder);
  EXPECT_TRUE(report::precision_sentence(findings.precisions.front()).empty());
  EXPECT_FALSE(findings.precisions.front().points[0].on_front);
}

TEST(PrecisionReport, TheHeadlineIsAboutF32) {
  record::ResultsFolder folder =
      sample_folder("folder", {cell("tbb", kF32, 2e-3, 3e-7), cell("xsimd", kF32, 3e-3, 3e-7),
                               cell("onednn", kOne, 1e-3, 2e-3), cell("xsimd", kOne, 5e-3, 2e-3)});
  const std::string headline = text_of(report::conclude(report::find_out(folder)).headline);
  EXPECT_NE(headline.find("tbb"), std::string::npos) << headline;
  EXPECT_EQ(headline.find("onednn"), std::string::npos) << headline;
}

TEST(PrecisionReport, WithoutARoofOfItsOwnThereIsNoShare) {
  record::ResultsFolder folder = sample_folder("folder", {cell("tbb", kOne, 1e-3, 2e-3)});
  folder.environment["peaks"] = {{"fma_gflops_by_threads", {{"1", 100}}},
                                 {"read_gb_per_s_by_threads", {{"1", 10}}}};
  const report::Findings findings = report::find_out(folder);
  const std::string text = text_of(report::limit_sentence(findings, folder.results.front()));
  EXPECT_NE(text.find("no roof was measured for bf16"), std::string::npos) << text;
  folder.environment["peaks"]["gflops_by_precision_and_threads"] = {{"bf16", {{"1", 900}}}};
  EXPECT_TRUE(report::roof_of(folder, folder.results.front(), judge::roofs_of(folder)));
}

TEST(PrecisionTable, NamesNumbersAndTheirOwnLimits) {
  const std::string text =
      show::results_table({cell("tbb", kF32, 2e-3, 3e-7), cell("tbb", kOne, 1e-3, 2e-3),
                           cell("onednn", kOne, 2e-3, 2e-3)},
                          {});
  EXPECT_NE(text.find("numbers"), std::string::npos) << text;
  EXPECT_NE(text.find("2.0e-03 / 1e-02"), std::string::npos) << text;
  EXPECT_NE(text.find("3.0e-07 / 5e-06"), std::string::npos) << text;
  EXPECT_NE(text.find("fastest within the limits of bf16: tbb split bf16 (1)"), std::string::npos)
      << text;
  const std::string plain = show::results_table({cell("tbb", kF32, 2e-3, 3e-7)}, {});
  EXPECT_EQ(plain.find("numbers"), std::string::npos) << plain;
}

TEST(PrecisionExport, CsvHasBoth) {
  const std::string text =
      show::export_csv(sample_folder("folder", {cell("tbb", kStored, 1e-3, 2e-3)}));
  EXPECT_NE(text.find(",precision"), std::string::npos);
  EXPECT_NE(text.find("split,tbb,bf16,"), std::string::npos) << text;
  EXPECT_NE(text.find("bf16,1,,0,0,0,0,0,0,0,0,false,false,0,0\r\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace headroom::precision_test
