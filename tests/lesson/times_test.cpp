// What the lesson says about times of wrapper and split, from times made up here.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "lesson/times_text.hpp"

namespace headroom::lesson::times_test {
namespace {

using judge::Verdict;

FormulationTimes row(const char* backend, bool together, Verdict verdict, double speed_up = 1) {
  FormulationTimes times;
  times.backend = backend;
  times.together = together;
  times.difference.ratio = 1 / speed_up;
  times.difference.ci95 = {0.9 / speed_up, 1.1 / speed_up};
  times.difference.margin = 0.03;
  times.difference.verdict = verdict;
  return times;
}

ShapeTimes times_of(std::size_t shape, std::vector<FormulationTimes> rows) {
  return {timed_shapes().at(shape), std::move(rows)};
}

constexpr std::size_t kOneHead = 0, kTwelveHeads = 1, kManyHeads = 2;

void expect_none(const std::string& text, std::initializer_list<const char*> all) {
  for (const char* words : all) EXPECT_EQ(text.find(words), std::string::npos) << text;
}

TEST(LessonTimes, Shapes_OfOneAnother_DifferOnlyInTheirHeads) {
  std::vector<Case> shapes = timed_shapes();
  ASSERT_EQ(shapes.size(), 3U);
  EXPECT_EQ(shape_text(shapes[0]), "1 head of 768, width 768, 16 tokens");
  EXPECT_EQ(shape_text(shapes[1]), "12 heads of 64, width 768, 16 tokens");
  EXPECT_EQ(shape_text(shapes[2]), "96 heads of 8, width 768, 16 tokens");
  for (Case& shape : shapes) {
    shape.validate();
    shape.heads = 1;
    EXPECT_EQ(shape, shapes[0]);
  }
}

TEST(LessonTimes, Findings_WithoutADifference_GiveNoReason) {
  const std::string text = findings(times_of(
      kTwelveHeads,
      {row("naive", false, Verdict::not_distinguishable, 1.2), row("onednn", false, Verdict::same),
       row("xsimd", true, Verdict::same), row("tbb", true, Verdict::not_distinguishable)}));
  EXPECT_EQ(text,
            "Wrapper and split are level with onednn and xsimd. No difference can be shown with "
            "naive and tbb.");
}

TEST(LessonTimes, Findings_OfManyHeads_SayWhoDiffersAndWhy) {
  const std::string text = findings(times_of(
      kManyHeads,
      {row("naive", false, Verdict::faster, 1.4), row("autovec", false, Verdict::faster, 3.04),
       row("xsimd", true, Verdict::same), row("onednn", false, Verdict::not_distinguishable, 3.49),
       row("tbb", true, Verdict::not_distinguishable)}));
  EXPECT_EQ(text,
            "Split is faster with naive (1.40 ×) and autovec (3.04 ×). There, each of the "
            "wrapper's 288 products is computed by itself: it starts anew, has only 8 columns, and "
            "reads x again. Wrapper and split are level with xsimd. No difference can be shown "
            "with onednn and tbb. A backend that packs the matrices of all heads over one input "
            "together multiplies them as if they were one wide matrix: xsimd and tbb.");
}

TEST(LessonTimes, Findings_WherePackedTogetherDiffers_GiveNoReason) {
  const std::string text = findings(times_of(
      kManyHeads, {row("xsimd", true, Verdict::faster, 2.2), row("tbb", true, Verdict::same)}));
  EXPECT_NE(text.find("faster with xsimd (2.20 ×), although"), std::string::npos) << text;
  expect_none(text, {"There", "as if they were one", "with tbb (", "xsimd and tbb"});
}

TEST(LessonTimes, Findings_WhereSplitIsSlower_SayIt) {
  const std::string text =
      findings(times_of(kManyHeads, {row("autovec", false, Verdict::slower, 0.8)}));
  EXPECT_EQ(text, "Split is slower with autovec (0.80 ×).");
}

TEST(LessonTimes, Findings_OfOneHead_BlameNoFormulation) {
  EXPECT_EQ(findings(times_of(kOneHead, {row("naive", false, Verdict::same)})),
            "With 1 head, wrapper and split are the same 3 products. Wrapper and split are level "
            "with naive.");
  const std::string text = findings(times_of(
      kOneHead, {row("naive", false, Verdict::faster, 1.05), row("xsimd", true, Verdict::same)}));
  EXPECT_NE(text.find("the formulation is not what differs with naive (1.05 ×)"), std::string::npos)
      << text;
  expect_none(text, {"There", "as if they were one", "Split is faster"});
}

TEST(LessonTimes, Note_CountsTheRowsTestedTogether) {
  const std::vector<ShapeTimes> times{
      times_of(kOneHead, {row("naive", false, Verdict::same), row("tbb", true, Verdict::same)}),
      times_of(kManyHeads, {row("naive", false, Verdict::faster, 1.4)})};
  const std::string note = verdict_note(times);
  EXPECT_NE(note.find("3 rows are tested together"), std::string::npos) << note;
  EXPECT_NE(note.find("beyond 3.0 % and p < 0.05, corrected for all rows"), std::string::npos)
      << note;
  EXPECT_EQ(verdict_note({}), "");
  EXPECT_EQ(verdict_note({times_of(kOneHead, {})}), "");
}

}  // namespace
}  // namespace headroom::lesson::times_test
