// Which backend to link, on made-up differences.
#include "judge/link_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom::judge::link_choice_test {
namespace {

Difference difference(double ratio, double low, double high, Verdict verdict, bool enough = true) {
  Difference made;
  made.ratio = ratio;
  made.ci95 = {low, high};
  made.margin = 0.03;
  made.enough = enough;
  made.verdict = verdict;
  return made;
}

TEST(LinkChoice, ALossIsLittleOnlyWhereTheWholeIntervalSaysSo) {
  constexpr Verdict kUnclear = Verdict::not_distinguishable;
  EXPECT_EQ(loss_of(difference(1, 0.99, 1.02, Verdict::same)), Loss::little);
  EXPECT_EQ(loss_of(difference(0.9, 0.85, 0.95, Verdict::faster)), Loss::little);
  EXPECT_EQ(loss_of(difference(0.98, 0.9, 1.03, kUnclear)), Loss::little);
  EXPECT_EQ(loss_of(difference(1, 0.97, 1.031, kUnclear)), Loss::unknown);
  EXPECT_EQ(loss_of(difference(1.9, 0.97, 1.98, kUnclear)), Loss::unknown);
  EXPECT_EQ(loss_of(difference(1.9, 1.8, 1.98, Verdict::slower)), Loss::large);
}

TEST(LinkChoice, OneLaunchShowsNeitherThatLittleIsLostNorThatMuchIs) {
  constexpr Verdict kUnclear = Verdict::not_distinguishable;
  EXPECT_EQ(loss_of(difference(1, 0.99, 1.01, kUnclear, false)), Loss::unknown);
  EXPECT_EQ(loss_of(difference(2, 1.9, 2.1, kUnclear, false)), Loss::unknown);
  Difference itself;
  itself.ci95 = {1, 1};
  itself.verdict = Verdict::same;
  EXPECT_EQ(loss_of(itself), Loss::little);
}

const LinkWeight kHeavy{false, 3, 40, 2};
const LinkWeight kLight{false, 1, 1, 1};
const LinkWeight kNone{false, 0, 0, 1};

TEST(LinkChoice, TheLightestOfThoseThatLoseLittle) {
  const LinkChoice choice = choose_to_link({{0, 0.02, Loss::little, kLight},
                                            {0, 0, Loss::little, kHeavy},
                                            {0, 0.01, Loss::little, kNone}});
  EXPECT_EQ(choice.fastest, 1U);
  EXPECT_EQ(choice.chosen, 2U);
  EXPECT_TRUE(choice.open.empty());
}

TEST(LinkChoice, WhatMayLoseMuchStaysOpen) {
  const LinkChoice choice = choose_to_link({{0, 0, Loss::little, kHeavy},
                                            {0, 0.01, Loss::little, kLight},
                                            {0, 0.3, Loss::unknown, kNone}});
  EXPECT_EQ(choice.chosen, 1U);
  EXPECT_EQ(choice.open, std::vector<std::size_t>{2});
}

TEST(LinkChoice, NothingHeavierIsOpenAndNothingIsChosenThatLacksAShape) {
  const LinkChoice choice = choose_to_link({{0, 0, Loss::little, kLight},
                                            {0, 0.1, Loss::unknown, kHeavy},
                                            {1, 0, Loss::little, kNone},
                                            {1, 0, Loss::unknown, kNone},
                                            {0, 1, Loss::large, kNone},
                                            {0, 0.01, Loss::little, LinkWeight{true, 0, 0, 0}}});
  EXPECT_EQ(choice.chosen, 0U);
  EXPECT_TRUE(choice.open.empty());
}

TEST(LinkChoice, WithoutAnAnswerTheLightestIsPreferred) {
  const std::vector<Contender> contenders{{0, 0, Loss::little, kHeavy},
                                          {0, 0.3, Loss::unknown, kNone},
                                          {0, 0.1, Loss::unknown, kLight},
                                          {0, 0.9, Loss::large, kNone, Formulation::split, false}};
  const LinkChoice unclear = choose_to_link(contenders, Sureness::unknown);
  EXPECT_EQ(unclear.fastest, 0U);
  EXPECT_EQ(unclear.chosen, 1U);
  EXPECT_EQ(unclear.open, (std::vector<std::size_t>{1, 2})) << "more samples would tell";
  for (const Sureness sureness : {Sureness::clear, Sureness::tie, Sureness::alone}) {
    EXPECT_EQ(choose_to_link(contenders, sureness).chosen, 0U);
  }
}

TEST(LinkChoice, WithoutAnAnswerSplitComesBeforeFused) {
  const auto chosen = [](const std::vector<Formulation>& formulations) {
    std::vector<Contender> contenders;
    for (const Formulation each : formulations) {
      const double behind = 0.01 * static_cast<double>(contenders.size());
      contenders.push_back({0, behind, Loss::unknown, kLight, each});
    }
    return formulations[choose_to_link(contenders, Sureness::unknown).chosen];
  };
  using enum Formulation;
  EXPECT_EQ(chosen({wrapper, fused, split}), split);
  EXPECT_EQ(chosen({wrapper, fused}), fused);
  EXPECT_EQ(choose_to_link({{0, 0.1, Loss::unknown, kLight}, {0, 0, Loss::little, kLight}},
                           Sureness::unknown)
                .chosen,
            1U)
      << "the smaller median of two alike";
}

TEST(LinkChoice, WhatLooksSlowerIsNeverPreferred) {
  constexpr Verdict kUnclear = Verdict::not_distinguishable;
  EXPECT_TRUE(may_be_as_fast(difference(1.9, 0.97, 1.98, kUnclear)));
  EXPECT_TRUE(may_be_as_fast(difference(1.02, 1.01, 1.04, kUnclear)));
  EXPECT_FALSE(may_be_as_fast(difference(1.1, 1.01, 1.2, Verdict::slower)));
  EXPECT_FALSE(may_be_as_fast(difference(8, 7.9, 8.1, kUnclear, false))) << "of one launch";
  EXPECT_EQ(choose_to_link({{0, 0, Loss::little, kHeavy},
                            {0, 2, Loss::unknown, kNone, Formulation::split, false},
                            {1, 0, Loss::unknown, kNone}},
                           Sureness::unknown)
                .chosen,
            0U);
}

TEST(Sureness, IsThatOfTheBackendsThatLead) {
  const Showing little{true, Loss::little}, unknown{true, Loss::unknown},
      behind{false, Loss::large};
  EXPECT_EQ(sureness_of({little}), Sureness::alone);
  EXPECT_EQ(sureness_of({little, behind}), Sureness::clear);
  EXPECT_EQ(sureness_of({behind, little, little}), Sureness::tie);
  EXPECT_EQ(sureness_of({little, little, unknown}), Sureness::unknown);
  EXPECT_EQ(sureness_of({little, {true, Loss::large}}), Sureness::unknown);
  EXPECT_EQ(to_string(Sureness::unknown), "unclear");
}

}  // namespace
}  // namespace headroom::judge::link_choice_test
