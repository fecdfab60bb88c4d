#include "judge/verdict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/sample_lists.hpp"

namespace headroom::judge::verdict_test {
namespace {

using test::kNoisy;
using test::launches;
using test::times;

// Nine samples within 1 % of each other.
const std::vector<double> kSteady{1.000, 1.004, 0.997, 1.002, 0.999, 1.006, 1.001, 0.998, 1.003};

// Each sample from a launch of its own.
statistics::SamplesByProcess apart(const std::vector<double>& samples) {
  statistics::SamplesByProcess launches;
  for (const double sample : samples) launches.push_back({sample});
  return launches;
}

Verdict verdict_of(const std::vector<double>& base, const std::vector<double>& next,
                   double threshold = 0.03, double floor = 0) {
  return compare_samples(SamplePair{apart(base), apart(next), floor}, {threshold, 1}).verdict;
}

TEST(Verdicts, ALargeSteadyDifferenceIsNamed) {
  EXPECT_EQ(verdict_of(kSteady, times(kSteady, 1.1)), Verdict::slower);
  EXPECT_EQ(verdict_of(times(kSteady, 1.1), kSteady), Verdict::faster);
  const Difference difference =
      compare_samples(SamplePair{apart(kSteady), apart(times(kSteady, 1.1)), 0});
  EXPECT_NEAR(difference.ratio, 1.1, 1e-12);
  EXPECT_LT(difference.p, 1e-9);
  EXPECT_EQ(difference.margin, 0.03);
}

TEST(Verdicts, ASmallDifferenceIsTheSameHoweverCertain) {
  const Difference difference =
      compare_samples(SamplePair{apart(kSteady), apart(times(kSteady, 1.02)), 0});
  EXPECT_LT(difference.corrected_p, kSignificance);
  EXPECT_EQ(difference.verdict, Verdict::same);
  EXPECT_EQ(verdict_of(kSteady, kSteady), Verdict::same);
  // The same numbers under a stricter threshold.
  EXPECT_EQ(verdict_of(kSteady, times(kSteady, 1.02), 0.005), Verdict::slower);
}

TEST(Verdicts, ALargeDifferenceWithinTheNoiseIsNotDistinguishable) {
  EXPECT_EQ(verdict_of(kNoisy, times(kNoisy, 1.1)), Verdict::not_distinguishable);
  EXPECT_EQ(verdict_of(kNoisy, kNoisy), Verdict::not_distinguishable);
}

// The interval may reach below the threshold, but not down to no difference at all.
TEST(Verdicts, ARealDifferenceBeyondTheThresholdIsNamed) {
  const Difference slower =
      compare_samples(SamplePair{apart(kSteady), apart(times(kSteady, 1.031)), 0});
  EXPECT_LT(slower.ci95.low, 1.03);
  EXPECT_GT(slower.ci95.low, 1);
  EXPECT_EQ(slower.verdict, Verdict::slower);
  EXPECT_EQ(verdict_of(kSteady, times(kSteady, 1 / 1.031)), Verdict::faster);
  // Between the threshold and the end of the interval: real, but perhaps too small to matter.
  const Difference small =
      compare_samples(SamplePair{apart(kSteady), apart(times(kSteady, 1.029)), 0});
  EXPECT_LT(small.corrected_p, kSignificance);
  EXPECT_GT(small.ci95.high, 1.03);
  EXPECT_EQ(small.verdict, Verdict::not_distinguishable);
}

// Three launches each, that differ much. Alone the difference is significant, among 40 it is not.
TEST(Verdicts, TheTestMustSpeakTooAfterItsCorrection) {
  const SamplePair few{apart({1.00, 1.03, 0.97}), apart({1.12, 1.16, 1.08}), 0};
  const Difference alone = compare_samples(few);
  EXPECT_EQ(alone.verdict, Verdict::slower) << alone.p;
  std::vector<SamplePair> many(40, SamplePair{apart(kSteady), apart(kSteady), 0});
  many[3] = few;
  const std::vector<Difference> differences = compare_samples(many);
  EXPECT_EQ(differences[3].verdict, Verdict::not_distinguishable);
  EXPECT_NEAR(differences[3].corrected_p, 40 * alone.p, 1e-12);
  EXPECT_EQ(differences[4].verdict, Verdict::same);
}

TEST(Verdicts, OneLaunchOnEitherSideSaysNothing) {
  for (const double factor : {0.5, 1.0, 2.0}) {
    const SamplePair pairs[] = {{{times(kSteady, factor)}, {kSteady}, 0},
                                {{times(kSteady, factor)}, apart(kSteady), 0},
                                {apart(kSteady), {times(kSteady, factor)}, 0},
                                {{{1}}, {{factor}}, 0}};
    for (const SamplePair& pair : pairs) {
      const Difference difference = compare_samples(pair);
      EXPECT_FALSE(difference.enough);
      EXPECT_EQ(difference.p, 1);
      EXPECT_EQ(difference.verdict, Verdict::not_distinguishable);
    }
  }
}

TEST(Verdicts, ANoiseFloorWidensTheThresholdAndNeverNarrowsIt) {
  EXPECT_EQ(verdict_of(kSteady, times(kSteady, 1.1), 0.03, 0.12), Verdict::same);
  EXPECT_EQ(verdict_of(kSteady, times(kSteady, 1.1), 0.03, 0.05), Verdict::slower);
  EXPECT_EQ(verdict_of(kSteady, times(kSteady, 1.02), 0.03, 0.001), Verdict::same);
}

TEST(Verdicts, AreWordsThatPeopleRead) {
  EXPECT_EQ(to_string(Verdict::faster), "faster");
  EXPECT_EQ(to_string(Verdict::slower), "slower");
  EXPECT_EQ(to_string(Verdict::same), "same");
  EXPECT_EQ(to_string(Verdict::not_distinguishable), "not distinguishable");
}

// The error rates that the manual promises, on samples with 2 % noise and a known true ratio.
TEST(Verdicts, FalseAlarmsAreRareAndTenPercentIsFound) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> noise(1, 0.02);
  const auto draw = [&](double factor) {
    std::vector<double> samples(9);
    std::generate(samples.begin(), samples.end(), [&] { return factor * noise(generator); });
    return samples;
  };
  int false_alarms = 0;
  int found = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Verdict alike = verdict_of(draw(1), draw(1));
    false_alarms += alike == Verdict::faster || alike == Verdict::slower;
    found += verdict_of(draw(1), draw(1.1)) == Verdict::slower;
  }
  EXPECT_LE(false_alarms, kTrials / 20);
  EXPECT_GE(found, kTrials * 19 / 20);
}

constexpr double kWithin = 0.003;

// The luck of launches is no difference between programs. Each sample taken for a launch of its
// own, they claim one far too often.
TEST(Verdicts, TheLuckOfLaunchesIsNoDifference) {
  std::mt19937_64 generator(8);
  int false_alarms = 0;
  int false_alarms_without = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    const SamplePair pair{launches(1, 0.05, kWithin, generator),
                          launches(1, 0.05, kWithin, generator), 0};
    const Difference difference = compare_samples(pair);
    false_alarms += difference.verdict == Verdict::faster || difference.verdict == Verdict::slower;
    const SamplePair one{apart(launches(1, 0.05, kWithin, generator, 1)[0]),
                         apart(launches(1, 0.05, kWithin, generator, 1)[0]), 0};
    const Verdict without = compare_samples(one).verdict;
    false_alarms_without += without == Verdict::faster || without == Verdict::slower;
  }
  EXPECT_LE(false_alarms, kTrials * 25 / 1000);
  EXPECT_GE(false_alarms_without, kTrials / 10) << "this test would not notice";
}

TEST(Verdicts, FivePercentIsFoundWhereLaunchesDifferLittle) {
  std::mt19937_64 generator(9);
  int found = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const SamplePair pair{launches(1, 0.005, kWithin, generator),
                          launches(1.05, 0.005, kWithin, generator), 0};
    found += compare_samples(pair).verdict == Verdict::slower;
  }
  EXPECT_GE(found, kTrials * 9 / 10);
}

// As plain loops at the largest sizes get them: two passes of ten seconds, from two processes.
TEST(Verdicts, TwoProcessesAreEnoughForALargeDifference) {
  const SamplePair far{{{0.20}, {0.21}, {0.2}}, {{11.0}, {10.2}}, 0};
  EXPECT_TRUE(compare_samples(far).enough);
  EXPECT_EQ(compare_samples(far).verdict, Verdict::slower);
  const SamplePair near{{{0.20}, {0.25}, {0.2}}, {{0.27}, {0.24}}, 0};
  EXPECT_EQ(compare_samples(near).verdict, Verdict::not_distinguishable);
}

}  // namespace
}  // namespace headroom::judge::verdict_test
