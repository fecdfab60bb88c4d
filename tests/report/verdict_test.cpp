// What a report claims, and what it must not claim.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/call/demand.hpp"
#include "judge/credible_roofs.hpp"
#include "program/exit_code.hpp"
#include "record/peaks.hpp"
#include "report/findings/findings.hpp"
#include "report/words/conclusion.hpp"
#include "support/sample_results.hpp"
#include "support/told.hpp"

namespace headroom::verdict_test {
namespace {

using record::CellResult;
using record::Status;
using report::Conclusion;
using test::around;
using test::cell;
using test::kSplit;
using test::kWrapper;
using test::row_text;

struct Told {
  std::string headline, text;
  Conclusion conclusion;
};

Told told(const record::ResultsFolder& folder) {
  Told told;
  told.conclusion = report::conclude(report::find_out(folder));
  told.headline = report::plain_text(told.conclusion.headline);
  for (const report::Prose& sentence : told.conclusion.sentences) {
    told.text += report::plain_text(sentence) + "\n";
  }
  return told;
}

Told told(std::vector<CellResult> results) {
  return told(test::sample_folder("results", std::move(results)));
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in:\n" << text;
}

void expect_no_part(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << "\"" << part << "\" in:\n" << text;
}

// From a little less than 1 to twice as much.
const std::vector<double> kWide{0.94, 0.95, 0.97, 0.99, 1.9, 1.93, 1.95, 1.97, 1.98};

TEST(ReportVerdict, NamesWhatToLinkForAllShapesAndForEach) {
  const Told answer =
      told({cell("xsimd", kSplit, 2, around(1)), cell("tbb", kSplit, 2, around(1.2), 2),
            cell("naive", kSplit, 96, around(8)), cell("tbb", kSplit, 96, around(1), 2),
            cell("xsimd", kSplit, 96, around(2)), cell("tbb", kSplit, 12, around(1))});
  EXPECT_EQ(answer.headline, "Link tbb: the best in 2 of 3 shapes.");
  EXPECT_EQ(answer.text.find("Link tbb and use its split formulation: with 4 tokens, width 384, on "
                             "2 threads, it is 8.00 × as fast as the plain loops of naive/split on "
                             "1 thread (95 % confidence interval "),
            0U)
      << answer.text;
  expect_part(answer.text, "That is 2.00 × as fast as the next backend, xsimd/split on 1 thread (");
  expect_part(answer.text,
              "Of the 3 shapes, tbb is the clear winner in 1, the only one with a time in 1, "
              "slower than xsimd in 1.");
  EXPECT_EQ(answer.conclusion.every_shape.rows.size(), 3U);
  const report::Table& answers = answer.conclusion.answers;
  ASSERT_EQ(answers.rows.size(), 3U);
  EXPECT_EQ(row_text(answers, 0),
            "2 heads, 4 tokens, width 8 | xsimd/split | 1 | clear | 1.2 × tbb | - | 4");
  EXPECT_EQ(row_text(answers, 1),
            "96 heads, 4 tokens, width 384 | tbb/split | 2 | clear | 2 × xsimd | 8 × | 4");
  EXPECT_EQ(row_text(answers, 2),
            "12 heads, 4 tokens, width 48 | tbb/split | 1 | only one | - | - | 4");
}

TEST(ReportVerdict, ClaimsNothingThatTheSamplesDoNotTellApart) {
  const Told answer =
      told({cell("naive", kSplit, 96, around(1.01, 0.05)), cell("tbb", kSplit, 96, around(1, 0.05)),
            cell("tbb", kWrapper, 96, around(1.02, 0.05))});
  EXPECT_EQ(answer.headline, "No answer yet: measure longer, or on a quieter machine.");
  expect_part(answer.text, "tbb/split has the lowest median: with 4 tokens");
  expect_no_part(answer.text, "Link ");
  expect_part(answer.text,
              "no speed-up over the plain loops of naive/split on 1 thread can be shown.");
  expect_part(answer.text, "naive/split on 1 thread, cannot be distinguished from tbb/split.");
  expect_part(answer.text,
              "No difference can be shown between its split and wrapper formulations.");
  expect_part(answer.text, "(wrapper), no difference can be shown for tbb.");
  expect_no_part(answer.text, "×");
}

// Only naive is part of this program, so that it is lighter than any other.
TEST(ReportVerdict, TheLighterBackendIsLinkedWhereLittleIsLost) {
  const Told answer =
      told({cell("tbb", kSplit, 96, around(1)), cell("naive", kSplit, 96, around(1.01))});
  EXPECT_EQ(answer.headline, "Link naive.");
  expect_part(answer.text, "The lowest median is that of tbb/split; at most 1.");
  expect_part(answer.text, " % is lost (95 % confidence), and naive has fewer dependencies.");
}

TEST(ReportVerdict, AWideIntervalIsNoReasonToLinkTheLighterBackend) {
  const Told answer =
      told({cell("tbb", kSplit, 96, around(1)), cell("naive", kSplit, 96, kWide),
            cell("tbb", kSplit, 12, around(1)), cell("naive", kSplit, 12, around(1.01))});
  EXPECT_EQ(answer.headline, "Link tbb.");
  expect_part(answer.text,
              "Whether naive, which has fewer dependencies, would do as well is unclear (with 96 "
              "heads, 4 tokens, width 384, naive/split takes 0.9");
  expect_part(answer.text, " times as long as tbb/split, which has the lowest median): more ");
}

TEST(ReportVerdict, WithoutAnAnswerNothingIsSaidToBeLinked) {
  const Told answer =
      told({cell("tbb", kWrapper, 96, around(1)), cell("tbb", kSplit, 96, kWide),
            cell("naive", kWrapper, 96, around(1.01, 0.1)), cell("naive", kSplit, 96, kWide),
            cell("xsimd", kSplit, 96, around(3))});
  EXPECT_EQ(answer.headline, "No answer yet: measure longer, or on a quieter machine.");
  expect_no_part(answer.text, "Link ");
  expect_no_part(answer.text, "astest");
  expect_part(answer.text, "tbb/wrapper has the lowest median: with 4 tokens");
  expect_part(answer.text, "Until more is known, use naive/split, which takes 0.95 to 1.9");
  EXPECT_TRUE(row_text(answer.conclusion.answers, 0)
                  .starts_with("96 heads, 4 tokens, width 384 | naive/split | 1 | "))
      << row_text(answer.conclusion.answers, 0);
}

TEST(ReportVerdict, EachQuestionSaysWhetherItHasAnAnswer) {
  const auto headline = [](const std::vector<double>& prefill, const std::vector<double>& step) {
    return told({cell("tbb", kSplit, 96, around(1), 1, 128),
                 cell("xsimd", kSplit, 96, prefill, 1, 128),
                 cell("tbb", kSplit, 96, around(1), 1, 1), cell("xsimd", kSplit, 96, step, 1, 1)})
        .headline;
  };
  EXPECT_EQ(headline(around(2), around(2)), "Link tbb.");
  EXPECT_EQ(
      headline(around(2), kWide),
      "Prefill: link tbb. Few tokens: no answer yet, measure longer or on a quieter machine.");
  EXPECT_EQ(
      headline(kWide, around(2)),
      "Prefill: no answer yet, measure longer or on a quieter machine. Few tokens: link tbb.");
  EXPECT_EQ(headline(kWide, kWide), "No answer yet: measure longer, or on a quieter machine.");
}

TEST(ReportVerdict, OneLaunchIsSaidToBeOne) {
  const Told answer = told({test::of_one_launch(cell("xsimd", kSplit, 96, {8, 8.01, 8.02})),
                            test::of_one_launch(cell("tbb", kSplit, 96, {1, 1.01, 1.02}))});
  EXPECT_EQ(report::plain_text(answer.conclusion.answers.rows.at(0).at(3)), "unclear");
  EXPECT_EQ(report::plain_text(answer.conclusion.every_shape.rows.at(0).at(2)),
            "unclear: one launch only");
}

TEST(ReportVerdict, SaysWhatSplitWinsOverTheWrapper) {
  const std::vector<CellResult> both{
      cell("tbb", kSplit, 96, around(1)), cell("tbb", kWrapper, 96, around(2)),
      cell("xsimd", kSplit, 96, around(3)), cell("xsimd", kWrapper, 96, around(1.5))};
  const Told answer = told(both);
  expect_part(answer.text,
              "With one wide matrix (split) instead of one small matrix per head (wrapper), tbb is "
              "2.00 × as fast (");
  expect_part(answer.text, "); xsimd is 0.50 × as fast (");
  expect_no_part(answer.text, "difference can be shown");
  std::vector<CellResult> more = both;
  more.push_back(cell("tbb", kSplit, 12, around(1)));
  expect_part(told(more).text,
              "(wrapper), with 96 heads, 4 tokens, width 384, tbb is 2.00 × as fast (");
}

// The shape with the most work says that no difference can be shown; the others say otherwise.
TEST(ReportVerdict, SaysWhatSplitWinsInEveryShape) {
  const Told answer = told(
      {cell("tbb", kSplit, 96, around(1), 1, 128), cell("tbb", kWrapper, 96, around(1.001), 1, 128),
       cell("xsimd", kSplit, 96, around(1), 1, 128),
       cell("xsimd", kWrapper, 96, around(1.001), 1, 128),
       cell("naive", kSplit, 96, around(1), 1, 128),
       cell("naive", kWrapper, 96, around(0.5), 1, 128), cell("tbb", kSplit, 12, around(1)),
       cell("tbb", kWrapper, 12, around(1.5)), cell("tbb", kSplit, 24, around(1)),
       cell("tbb", kWrapper, 24, around(2.5)), cell("tbb", kSplit, 2, around(1)),
       cell("tbb", kWrapper, 2, around(2)), cell("xsimd", kSplit, 2, around(1), 1, 3)});
  expect_part(answer.text, "(wrapper), tbb is 1.50 × (");
  expect_part(answer.text, ") to 2.50 × (");
  expect_part(answer.text,
              ") as fast in 3 of 4 shapes, from the one with 12 heads, 4 tokens, width 48 to the "
              "one with 24 heads, 4 tokens, width 96; ");
  expect_part(answer.text, "; naive is 0.50 × as fast (");
  expect_part(answer.text,
              ") with 96 heads, 128 tokens, width 384; no difference can be "
              "shown for xsimd in any of the 4 shapes. In a backend's other shapes, "
              "no difference can be shown.\n");
}

TEST(ReportVerdict, WithoutPlainLoopsTheSpeedUpIsOverTheBackendFurthestBehind) {
  const Told answer =
      told({cell("tbb", kSplit, 96, around(1)), cell("xsimd", kSplit, 96, around(2)),
            cell("autovec", kSplit, 96, around(5)), cell("autovec", kWrapper, 96, around(4)),
            cell("naive", kWrapper, 96, around(3))});
  expect_part(answer.text, "it is 4.00 × as fast as autovec/wrapper on 1 thread (");
  expect_part(answer.text, "; the plain loops of naive/split have no time there.");
}

TEST(ReportVerdict, WithoutPlainLoopsOrAClearlySlowerBackendThereIsNoSpeedUp) {
  const Told answer = told(
      {cell("tbb", kSplit, 96, around(1, 0.05)), cell("xsimd", kSplit, 96, around(1.01, 0.05))});
  expect_part(
      answer.text,
      "no speed-up can be given, because the plain loops of naive/split have no time there.");
  expect_no_part(answer.text, "×");
}

TEST(ReportVerdict, TheBaselineHasNoSpeedUpOverItself) {
  const Told answer = told({cell("naive", kSplit, 96, around(1))});
  expect_part(answer.text, "it is itself the baseline of all speed-ups.");
  expect_no_part(answer.text, "have no time");
}

TEST(ReportVerdict, AShapeWithoutARivalIsNoWin) {
  const Told answer =
      told({cell("tbb", kSplit, 96, around(1), 1, 4), cell("xsimd", kSplit, 96, around(2), 1, 4),
            cell("tbb", kSplit, 96, around(1), 1, 3)});
  expect_part(answer.text, "tbb is the clear winner in 1, the only one with a time in 1.");
}

TEST(ReportVerdict, CountsWhereTheRecommendedBackendLoses) {
  const Told answer =
      told({cell("tbb", kSplit, 96, around(1), 1, 7), cell("xsimd", kSplit, 96, around(2), 1, 7),
            cell("tbb", kSplit, 96, around(1), 1, 8), cell("xsimd", kSplit, 96, around(2), 1, 8),
            cell("tbb", kSplit, 96, around(2), 1, 5), cell("xsimd", kSplit, 96, around(1), 1, 5),
            cell("naive", kSplit, 96, around(9), 1, 5)});
  EXPECT_EQ(answer.headline, "Link tbb: the best in 2 of 3 shapes.");
  expect_part(answer.text, "with 8 tokens");  // it meets more rivals where it loses
  expect_part(answer.text,
              "Of the 3 shapes, tbb is the clear winner in 2, slower than xsimd in 1.");
}

TEST(ReportVerdict, AutoIsNobodysRival) {
  const Told answer =
      told({cell("auto", kSplit, 96, around(0.99)), cell("tbb", kSplit, 96, around(1)),
            cell("xsimd", kSplit, 96, around(2))});
  EXPECT_EQ(answer.headline, "Link tbb.");
  EXPECT_EQ(report::plain_text(answer.conclusion.answers.rows.at(0).at(3)), "clear");
}

TEST(ReportVerdict, OneBackendIsNotCompared) {
  const Told answer = told({cell("tbb", kSplit, 96, around(1))});
  EXPECT_EQ(answer.headline, "Link tbb.");
  EXPECT_EQ(report::plain_text(answer.conclusion.answers.rows.at(0).at(3)), "only one");
}

TEST(ReportVerdict, WithoutAnyTimeNothingIsRecommended) {
  const Told answer =
      told({test::without_time(test::sample_result("tbb"), Status::failed, "wrong"),
            test::without_time(test::sample_result("xsimd"), Status::crashed, "died"),
            test::without_time(test::sample_result("naive"), Status::crashed, "died")});
  EXPECT_EQ(answer.headline, "No cell has a time, so nothing can be recommended.");
  expect_part(answer.text, "Of 3 cells: 1 failed, 2 crashed.");
  EXPECT_TRUE(answer.conclusion.answers.rows.empty());
}

TEST(ReportVerdict, TheShareOfTheLimitHasAnInterval) {
  CellResult measured = cell("tbb", kSplit, 96, {1, 1, 1, 1, 1, 1.25, 1.25, 1.25, 1.25});
  const double gflops = measured.shape.flops().total() * 1e-9;
  measured.control = record::Control{"avx2", 1, std::vector<double>(9, 4 * gflops)};
  const Told answer = told({measured});
  expect_part(answer.text, "the pass reaches 25 % (20 to 25) of the peak multiply-add rate");
  expect_no_part(answer.text, "tiles");
}

TEST(ReportVerdict, MoreThanTheLimitHasItsReason) {
  CellResult measured = cell("tbb", kSplit, 96, std::vector<double>(9, 1));
  const double gflops = measured.shape.flops().total() * 1e-9;
  const auto told_at = [&](double share) {
    measured.control = record::Control{"avx2", 1, std::vector<double>(9, gflops / share)};
    return told({measured});
  };
  const std::string reason = "the multiply-adds or tiles beside the samples were slowed more";
  const Told above = told_at(1.04);
  expect_part(above.text, "reaches 104 % (104 to 104)");
  expect_part(above.text, " More than 100 % means that " + reason);
  EXPECT_NE(row_text(above.conclusion.every_shape, 0).find("104 %^ of multiply-adds"),
            std::string::npos);
  expect_part(report::plain_text(above.conclusion.shape_note), "^ more than 100 %: " + reason);
  const Told below = told_at(0.996);  // shown as 100 %
  expect_no_part(below.text, "More than 100 %");
  expect_no_part(report::plain_text(below.conclusion.shape_note), "100 %");
  measured.tile_fraction = 1.02;
  expect_part(told_at(0.9).text, " More than 100 % means that " + reason);
}

TEST(ReportVerdict, TheShareOfTheTilesStandsBesideThatOfThePeak) {
  CellResult measured = cell("tbb", kSplit, 96, std::vector<double>(9, 1));
  const double gflops = measured.shape.flops().total() * 1e-9;
  measured.control = record::Control{"avx2", 1, std::vector<double>(9, 4 * gflops)};
  measured.tile_fraction = 0.3125;
  const Told answer = told({measured});
  expect_part(answer.text,
              "of the peak multiply-add rate, measured on the same number of threads, and 31 % of "
              "the rate of register tiles with their operands in the L1, which no matrix "
              "product can exceed.");
  const auto& row = answer.conclusion.every_shape.rows.at(0);
  std::string cells;
  for (const report::Prose& prose : row) cells += report::plain_text(prose) + "|";
  expect_part(cells, "|25 % of multiply-adds, 31 % of tiles|");
}

TEST(ReportVerdict, MemoryIsTheLimitOfWhatDoesNotFitTheCaches) {
  record::ResultsFolder folder =
      test::sample_folder("results", {cell("tbb", kSplit, 96, around(2e-3), 1, 1)});
  folder.environment["peaks"] = {{"fma_gflops_by_threads", {{"1", 1000.0}}},
                                 {"read_gb_per_s_by_threads", {{"1", 2.0}}}};
  folder.environment["processor"]["caches"] = {{{"bytes", 1024}}};
  const auto roof = report::roof_of(folder, folder.results[0], judge::roofs_of(folder));
  ASSERT_TRUE(roof.has_value());
  EXPECT_TRUE(roof->memory_bound);
  EXPECT_FALSE(roof->of_working_set);
  EXPECT_DOUBLE_EQ(roof->gflops, 2 * roof->flops_per_byte);
  expect_part(told(folder).text, "With 96 heads, 1 token, width 384, the limit is memory: ");
  expect_no_part(told(folder).text, "More than 100 % means");
  folder.environment["peaks"]["read_gb_per_s_by_threads"]["1"] = 1e-6;
  expect_part(told(folder).text, "More than 100 % means");
  CellResult on_two = folder.results[0];
  on_two.threads = 2;
  EXPECT_FALSE(report::roof_of(folder, on_two, judge::roofs_of(folder)).has_value());
  folder.environment["processor"]["caches"] = {{{"bytes", 1 << 30}}};
  EXPECT_FALSE(report::roof_of(folder, folder.results[0], judge::roofs_of(folder))->memory_bound);
  CellResult cold = folder.results[0];
  cold.cache = plan::CacheState::cold;
  EXPECT_TRUE(report::roof_of(folder, cold, judge::roofs_of(folder))->memory_bound);
}

TEST(ReportVerdict, FewRowsAreHeldToTheBandwidthOfTheirWorkingSet) {
  CellResult step = cell("tbb", kSplit, 96, around(2e-3), 1, 1);
  const std::int64_t set = record::size_class(bytes_to_read(step.shape));
  record::ResultsFolder folder = test::sample_folder("results", {step});
  folder.environment["peaks"] = {
      {"fma_gflops_by_threads", {{"1", 1000.0}}},
      {"read_gb_per_s_by_threads", {{"1", 2.0}}},
      {"read_gb_per_s_by_threads_and_bytes", {{"1", {{std::to_string(set), 5.0}}}}}};
  folder.environment["processor"]["caches"] = {{{"bytes", 1 << 30}}};
  const auto roof = report::roof_of(folder, folder.results[0], judge::roofs_of(folder));
  ASSERT_TRUE(roof.has_value());
  EXPECT_TRUE(roof->memory_bound) << "what lies in a cache is read as fast as that cache allows";
  EXPECT_TRUE(roof->of_working_set);
  EXPECT_DOUBLE_EQ(roof->gflops, 5 * roof->flops_per_byte);
  expect_part(told(folder).text, "the pass reads its weights at ");
  expect_no_part(told(folder).text, "cache at ");
  expect_part(told(folder).text, "of the bandwidth that these threads reach re-reading as much");
  folder.results[0].cache = plan::CacheState::cold;
  EXPECT_DOUBLE_EQ(report::roof_of(folder, folder.results[0], judge::roofs_of(folder))->gflops,
                   2 * roof->flops_per_byte);
}

TEST(ReportVerdict, WhatIsReadIncludesACacheWhereThereIsOne) {
  CellResult step = cell("tbb", kSplit, 96, around(2e-3), 1, 1);
  step.shape.past = 100;
  const std::int64_t set = record::size_class(bytes_to_read(step.shape));
  record::ResultsFolder folder = test::sample_folder("results", {step});
  folder.environment["peaks"] = {
      {"fma_gflops_by_threads", {{"1", 1000.0}}},
      {"read_gb_per_s_by_threads", {{"1", 2.0}}},
      {"read_gb_per_s_by_threads_and_bytes", {{"1", {{std::to_string(set), 5.0}}}}}};
  expect_part(told(folder).text, "the pass reads weights and cache at ");
}

// As of --model NAME --tokens 1,128: nothing is in the cache before the call.
TEST(ReportVerdict, AnEmptyCacheIsNoDecoding) {
  const auto both = [](std::int64_t past) {
    CellResult step = cell("xsimd", kSplit, 96, around(1), 1, 1);
    step.shape.past = past;
    step.cell.id = plan::cell_id(step.shape, step.cell);
    return std::vector{cell("tbb", kSplit, 96, around(1), 2, 128), step};
  };
  const Told empty = told(both(0));
  EXPECT_EQ(empty.headline, "Prefill: link tbb. Few tokens: link xsimd.");
  expect_part(empty.text,
              "Few tokens (at most 4 tokens of a sequence in a call, the first ones: with an empty "
              "cache, which is no step of decoding). Link xsimd ");
  expect_no_part(empty.text, "came before");
  expect_no_part(empty.text, "Decode");
  std::vector<CellResult> mixed = both(0);
  mixed.push_back(both(500)[1]);
  expect_part(told(mixed).text,
              "Decode (at most 4 tokens of a sequence in a call, some after others, some with an "
              "empty cache). Link xsimd ");
  EXPECT_EQ(told(both(500)).headline, "Prefill: link tbb. Decode: link xsimd.");
}

TEST(ReportVerdict, PrefillAndDecodeAreTwoQuestions) {
  const auto step = [](const std::string& backend, Formulation formulation, double seconds) {
    CellResult result = cell(backend, formulation, 12, around(seconds), 1, 1);
    result.shape.past = 500;
    result.shape.kv_heads = 4;
    result.cell.id = plan::cell_id(result.shape, result.cell);
    return result;
  };
  const Told answer =
      told({cell("tbb", kSplit, 96, around(1), 2, 128),
            cell("xsimd", kSplit, 96, around(2), 1, 128), cell("tbb", kSplit, 2, around(1), 1, 128),
            step("xsimd", kSplit, 1), step("xsimd", kWrapper, 1.5), step("tbb", kSplit, 3)});
  EXPECT_EQ(answer.headline, "Prefill: link tbb. Decode: link xsimd.");
  expect_part(answer.text, "Prefill (more than 4 tokens of a sequence in a call). Link tbb ");
  expect_part(answer.text,
              "Decode (at most 4 tokens of a sequence in a call, after all that came "
              "before). Link xsimd ");
  expect_part(answer.text, "with 1 token after 500, width 48, 4 key heads, on 1 thread");
  expect_part(answer.text,
              "(wrapper), with 12 heads, 1 token after 500, width 48, 4 key heads, "
              "xsimd is 1.50 × as fast (");
  EXPECT_EQ(row_text(answer.conclusion.answers, 2),
            "12 heads, 1 token after 500, width 48, 4 key heads | xsimd/split | 1 | clear | 3 × "
            "tbb | - | 1");
  EXPECT_EQ(answer.conclusion.every_shape.rows.size(), 3U);
}

}  // namespace
}  // namespace headroom::verdict_test
