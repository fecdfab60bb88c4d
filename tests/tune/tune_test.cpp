// headroom tune: what it measures, how it chooses, and what it writes.
#include "tune/tune.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/regular_file.hpp"
#include "support/sample_tuning.hpp"
#include "support/temporary_folder.hpp"
#include "tune/borders.hpp"
#include "tune/words.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::tune::tune_test {
namespace {

using judge::Verdict;

VariantTimes times(const std::string& variant,
                   const std::vector<std::pair<double, Verdict>>& ratios) {
  VariantTimes all{variant, {}};
  for (const auto& [ratio, verdict] : ratios) {
    judge::Difference difference;
    difference.ratio = ratio;
    difference.verdict = verdict;
    all.by_shape.push_back(difference);
  }
  return all;
}

TEST(Choose, TakesTheFastestThatIsSlowerNowhere) {
  const VariantTimes same =
      times("same", {{0.99, Verdict::same}, {0.90, Verdict::not_distinguishable}});
  const VariantTimes mixed = times("mixed", {{0.50, Verdict::faster}, {1.10, Verdict::slower}});
  const VariantTimes good = times("good", {{0.95, Verdict::faster}, {1.00, Verdict::same}});
  const VariantTimes better = times("better", {{0.93, Verdict::faster}, {1.00, Verdict::same}});
  EXPECT_EQ(choose("own", {}), "own");
  EXPECT_EQ(choose("own", {same, mixed}), "own");
  EXPECT_EQ(choose("own", {same, good, mixed}), "good");
  EXPECT_EQ(choose("own", {good, better}), "better");
}

std::vector<RowTimes> rows(const std::vector<std::pair<std::int64_t, Verdict>>& verdicts) {
  std::vector<RowTimes> all;
  for (const auto& [count, verdict] : verdicts) {
    RowTimes& times = all.emplace_back();
    times.rows = count;
    times.by_unit.ratio = 0.75;
    times.by_unit.verdict = verdict;
  }
  return all;
}

TEST(ChooseBorder, StaysWhereNothingSpeaksAgainstIt) {
  const auto measured = rows({{8, Verdict::slower}, {16, Verdict::same}, {32, Verdict::faster}});
  EXPECT_EQ(choose_border(8, measured), 8);
  EXPECT_EQ(choose_border(20, measured), 20);
  EXPECT_EQ(choose_border(31, measured), 31);
  EXPECT_EQ(choose_border(48, {}), 48);
}

TEST(ChooseBorder, MovesToTheNearestPlaceThatFits) {
  const auto measured = rows({{8, Verdict::slower}, {16, Verdict::same}, {32, Verdict::faster}});
  EXPECT_EQ(choose_border(3, measured), 8);
  EXPECT_EQ(choose_border(48, measured), 31);
  // What is slower for more rows again counts.
  EXPECT_EQ(choose_border(3, rows({{8, Verdict::faster}, {16, Verdict::slower}})), 16);
  EXPECT_EQ(choose_border(3, rows({{4, Verdict::faster}, {8, Verdict::faster}})), 3);
}

class Tune : public test::TemporaryFolder {
 protected:
  std::vector<Tuned> sample() const {
    const Border border{Precision::bf16, Unit::emulated, 3, 15, rows({{8, Verdict::slower}})};
    return {{1, "xsimd", "far", "why", {times("near", {{0.9, Verdict::faster}})}, "near", {border}},
            {2, "tbb", "far", "why", {times("near", {{1.1, Verdict::slower}})}, "far"}};
  }
};

TEST_F(Tune, MeasuresTheBordersOfEveryPrecisionThatAUnitMultiplies) {
  setenv("HEADROOM_UNIT", "emulated", 1);
  TuneSettings settings;
  settings.isa = available_isas().back();
  settings.threads = {1};
  settings.shapes = {test::tuned_shape(9, 32, 2)};
  settings.rows = {2, 33};
  settings.measure.timing.repetitions = 5;
  settings.measure.timing.processes = 2;
  settings.measure.timing.min_time = 1e-4;
  measure::Observer nobody;
  const std::vector<Tuned> all = tune_kernels(settings, nobody);
  unsetenv("HEADROOM_UNIT");
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].borders.size(), kAllPrecisions.size() - 2) << "f32 and int8 have no unit";
  for (const Border& border : all[0].borders) {
    EXPECT_EQ(border.unit, Unit::emulated);
    EXPECT_GT(border.own_choice, 0);
    ASSERT_EQ(border.rows.size(), 2U);
    EXPECT_EQ(border.rows[1].rows, 33);
    EXPECT_GT(border.rows[1].by_unit.ratio, 1) << "an emulator that is faster than vectors";
  }
}

TEST_F(Tune, MeasuresEveryVariantOfEveryShape) {
  TuneSettings settings;
  settings.isa = available_isas().back();
  settings.threads = {1, 2};
  settings.shapes = {test::tuned_shape(9, 32, 2), test::tuned_shape(40, 64, 4)};
  settings.measure.timing.repetitions = 5;
  settings.measure.timing.processes = 2;
  settings.measure.timing.min_time = 1e-4;
  measure::Observer nobody;
  const std::vector<Tuned> all = tune_kernels(settings, nobody);
  ASSERT_EQ(all.size(), 2U);
  for (const Tuned& tuned : all) {
    const auto names = backend_facts(tuned.backend).kernel_variants(settings.isa);
    EXPECT_EQ(tuned.others.size() + 1, names.size());
    EXPECT_FALSE(tuned.reason.empty());
    for (const VariantTimes& other : tuned.others) {
      EXPECT_NE(other.variant, tuned.own_choice);
      ASSERT_EQ(other.by_shape.size(), 2U);
      EXPECT_GT(other.mean_ratio(), 0);
    }
  }
  EXPECT_TRUE(backend_entry(all[1].backend).describe().threaded);
}

class Stopping final : public measure::Observer {
 public:
  bool stopped() override { return true; }
};

TEST_F(Tune, StopsWhenAsked) {
  TuneSettings settings;
  settings.isa = available_isas().back();
  settings.threads = {1};
  settings.shapes = {test::tuned_shape(9, 32, 2)};
  Stopping observer;
  EXPECT_TRUE(tune_kernels(settings, observer).empty());
}

TEST_F(Tune, TheFileIsReadAsItWasMeant) {
  const auto path = path_ / "tuning.json";
  const auto file = tuning::parse_tuning(path, tuning_text(path, sample(), Isa::avx2));
  EXPECT_EQ(tuning::stale_reason(file), "");
  EXPECT_TRUE(file.shapes.empty());
  EXPECT_EQ(file.kernels_for("avx2", 1)->variant, "near");
  EXPECT_EQ(file.kernels_for("avx2", 2)->variant, "far");
  EXPECT_EQ(file.kernels_for("avx512", 1), nullptr);
  const auto& borders = file.kernels_for("avx2", 1)->borders;
  ASSERT_EQ(borders.size(), 1U);
  EXPECT_EQ(borders[0].precision, Precision::bf16);
  EXPECT_EQ(borders[0].unit, "emulated");
  EXPECT_EQ(borders[0].few_rows, 15);
  EXPECT_TRUE(file.kernels_for("avx2", 2)->borders.empty());
}

TEST_F(Tune, KeepsWhatElseTheFileHolds) {
  const auto path = path_ / "tuning.json";
  auto json = test::tuning_json(
      {{test::tuned_shape(21), {test::candidate("tbb", Formulation::fused, 0.5)}}});
  json["kernels"] = {{{"isa", "sse42"}, {"threads", 4}, {"variant", "old"}},
                     {{"isa", "avx2"}, {"threads", 4}, {"variant", "old"}}};
  write("tuning.json", json.dump());
  const auto file = tuning::parse_tuning(path, tuning_text(path, sample(), Isa::avx2));
  ASSERT_EQ(file.shapes.size(), 1U);
  EXPECT_EQ(file.shapes[0].candidates[0].backend, "tbb");
  EXPECT_EQ(file.kernels_for("sse42", 1)->variant, "old");
  EXPECT_EQ(file.kernels_for("avx2", 4)->variant, "far");
}

TEST_F(Tune, LeavesFilesAloneThatAreNotItsOwn) {
  const auto path = path_ / "tuning.json";
  auto json = test::tuning_json(
      {{test::tuned_shape(21), {test::candidate("tbb", Formulation::fused, 0.5)}}});
  json["machine"]["processor"] = "another";
  write("tuning.json", json.dump());
  EXPECT_THROW(tuning_text(path, sample(), Isa::avx2), FileError);
  write("tuning.json", "a shopping list");
  EXPECT_THROW(tuning_text(path, sample(), Isa::avx2), FileError);
}

TEST_F(Tune, TheTableNamesVariantsShapesAndTheChoice) {
  const std::string text = to_text(sample(), {test::tuned_shape(9, 32, 2)});
  for (const char* part : {"1 thread (xsimd)", "near", "0.900", "faster", "chosen: near",
                           "2 threads (tbb)", "slower", "chosen: far", "B1_T9_D32_H2", "8 rows",
                           "chosen: emulated from 16 rows on (by itself 4)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing:\n" << text;
  }
}

}  // namespace
}  // namespace headroom::tune::tune_test
