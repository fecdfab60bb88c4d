// Which backend to link, on made-up differences.
#include "judge/link_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom::judge {
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

}  // namespace
}  // namespace headroom::judge
