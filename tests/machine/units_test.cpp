// Which units code can use, from made-up facts and on this machine.
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/unit.hpp"
#include "machine/meters/unit_trial.hpp"
#include "processor/unit_facts.hpp"

namespace headroom::units_test {
namespace {

using Units = std::vector<Unit>;

UnitFacts all_good() {
  UnitFacts facts;
  facts.avx512_bf16 = true;
  facts.tiles.tiles = facts.tiles.bf16 = true;
  facts.tiles.enabled = 0x600e7;
  facts.tiles.palettes = 1;
  return facts;
}

void expect_no_tiles(const UnitFacts& facts, const std::string& part) {
  const std::string reason = why_no_unit(Unit::amx, Isa::avx512, facts);
  EXPECT_NE(reason.find(part), std::string::npos) << reason;
  const bool built = why_no_unit(Unit::avx512_bf16, Isa::avx512, facts).empty();
  EXPECT_EQ(units_of(Isa::avx512, facts).back(), built ? Unit::avx512_bf16 : Unit::none);
}

TEST(Units, TheFastestOfAProcessorWithTilesIsTiles) {
  // A build for one processor alone may lack units that another has.
  Units wanted = {Unit::emulated, Unit::none};
  for (const Unit unit : {Unit::avx512_bf16, Unit::amx}) {
    const std::string reason = why_no_unit(unit, Isa::avx512, all_good());
    if (reason.empty()) {
      wanted.push_back(unit);
    } else {
      EXPECT_NE(reason.find("HEADROOM_LEVELS=all"), std::string::npos) << reason;
    }
  }
  EXPECT_EQ(units_of(Isa::avx512, all_good()), wanted);
}

TEST(Units, EachReasonAgainstTilesIsNamed) {
  UnitFacts facts = all_good();
  facts.tiles = {};
  expect_no_tiles(facts, "no tiles");
  facts = all_good();
  facts.tiles.bf16 = false;
  expect_no_tiles(facts, "do not multiply bfloat16");
  facts = all_good();
  facts.tiles.enabled = 0x200e7;  // their configuration, and not their data
  expect_no_tiles(facts, "operating system");
  facts = all_good();
  facts.tiles.palettes = 0;
  expect_no_tiles(facts, "hypervisor hides");
  facts = all_good();
  facts.tiles.permission = EPERM;
  expect_no_tiles(facts, "Operation not permitted");
}

TEST(Units, LowerLevelsHaveNone) {
  for (const Isa isa : {Isa::sse42, Isa::avx2, Isa::neon}) {
    EXPECT_EQ(units_of(isa, all_good()), (Units{Unit::emulated, Unit::none})) << to_string(isa);
    EXPECT_NE(why_no_unit(Unit::amx, isa, all_good()).find("avx512"), std::string::npos);
  }
}

TEST(Units, ABareProcessorComputesItAll) {
  EXPECT_EQ(units_of(Isa::avx512, {}), (Units{Unit::emulated, Unit::none}));
}

TEST(Units, NamesGoBothWays) {
  for (const Unit unit : {Unit::none, Unit::avx512_bf16, Unit::amx, Unit::emulated}) {
    EXPECT_EQ(parse_unit(to_string(unit)), unit);
  }
  EXPECT_FALSE(parse_unit("AMX").has_value());
}

TEST(Units, NoLevelIsAUnit) {
  EXPECT_FALSE(parse_isa("amx").has_value());
  for (const Isa isa : available_isas()) EXPECT_FALSE(parse_unit(to_string(isa)).has_value());
}

class UnitVariable : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* set = std::getenv("HEADROOM_UNIT")) before_ = set;
    unsetenv("HEADROOM_UNIT");
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("HEADROOM_UNIT");
    } else {
      setenv("HEADROOM_UNIT", before_.c_str(), 1);
    }
  }
  std::string before_;
};

TEST_F(UnitVariable, IsObeyed) {
  setenv("HEADROOM_UNIT", "emulated", 1);
  for (const Isa isa : available_isas()) EXPECT_EQ(select_unit(isa), Unit::emulated);
  EXPECT_EQ(select_unit(available_isas().back(), Unit::none), Unit::none);
}

TEST_F(UnitVariable, IsRefusedWhereItNamesNoUnit) {
  setenv("HEADROOM_UNIT", "emulate", 1);
  try {
    select_target();
    FAIL() << "an unknown unit was taken";
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find("emulated"), std::string::npos) << error.what();
  }
}

TEST_F(UnitVariable, NeverFallsBack) {
  const Isa lowest = available_isas().front();
  if (lowest == Isa::avx512) GTEST_SKIP() << "no level below that of the units was built";
  EXPECT_THROW(select_unit(lowest, Unit::amx), Unavailable);
  setenv("HEADROOM_UNIT", "amx", 1);
  EXPECT_THROW(select_unit(lowest), Unavailable);
}

TEST_F(UnitVariable, TheBestIsTakenWhereNothingIsAskedFor) {
  for (const Isa isa : available_isas()) {
    EXPECT_EQ(select_unit(isa), units_of(isa, unit_facts()).back());
    EXPECT_NE(select_unit(isa), Unit::emulated);
  }
}

TEST_F(UnitVariable, EveryLevelHasATarget) {
  ASSERT_EQ(available_targets().size(), available_isas().size());
  setenv("HEADROOM_UNIT", "emulated", 1);
  for (const Target& target : available_targets()) EXPECT_EQ(target.unit, Unit::emulated);
  for (const Target& target : available_targets(Unit::none)) EXPECT_EQ(target.unit, Unit::none);
}

TEST(UnitTrial, SaysHowAProductEnded) {
  EXPECT_EQ(machine::try_apart([] {}), "");
  const std::string died = machine::try_apart([] { std::raise(SIGILL); });
  EXPECT_NE(died.find("Illegal instruction"), std::string::npos) << died;
}

TEST(UnitTrial, DoesNotDependOnWhoReapsChildren) {
  void (*const before)(int) = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(machine::try_apart([] {}), "");
  EXPECT_NE(machine::try_apart([] { std::raise(SIGILL); }), "");
  std::signal(SIGCHLD, before);
}

TEST(UnitTrial, AgreesWithTheFactsOfThisMachine) {
  for (const Unit unit : available_units(available_isas().back())) {
    EXPECT_EQ(machine::try_unit(unit), "") << to_string(unit);
  }
}

}  // namespace
}  // namespace headroom::units_test
