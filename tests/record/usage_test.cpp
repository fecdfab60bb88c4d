// Energy and counters in a line of results.jsonl: back as they were, and refused where no machine
// uses so much.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "headroom/error.hpp"
#include "record/peaks.hpp"
#include "record/result.hpp"
#include "support/sample_results.hpp"

namespace headroom::record::usage_test {
namespace {

using nlohmann::ordered_json;
using test::sample_result;
using test::with_time;

const std::vector<double> kSeconds{0.5, 0.25, 1};

Used sample_usage() {
  Used used;
  used.samples.joules = {3, 2.5, 4.000000000000001};
  used.samples.instructions = {2e9, 2.1e9, 2.2e9};
  used.samples.cycles = {1e9, 1.05e9, 1.1e9};
  used.samples.cache_misses = {0, 7, 1.5};
  used.samples.throttled = {0, 3, 0};
  used.idle_share = 0.25;
  return used;
}

CellResult sample_cell() {
  CellResult cell = with_time(sample_result("naive"), kSeconds);
  cell.used = sample_usage();
  return cell;
}

TEST(UsageOfALine, IsReadBackAsItWas) {
  const CellResult cell = sample_cell();
  const ordered_json line = ordered_json::parse(to_json(cell).dump());
  EXPECT_EQ(line["energy_j"]["median"], 3);
  EXPECT_EQ(line["energy_j"]["idle_share"], 0.25);
  EXPECT_EQ(line["counters"]["instructions"]["median"], 2.1e9);
  EXPECT_EQ(line["counters"]["cache_misses"]["samples"], (std::vector<double>{0, 7, 1.5}));
  EXPECT_EQ(line["throttled"]["samples_with_events"], 1);
  const CellResult read = from_json(line);
  EXPECT_EQ(to_json(read).dump(), line.dump());
  ASSERT_TRUE(read.used);
  EXPECT_EQ(read.used->samples.joules, cell.used->samples.joules);
  EXPECT_EQ(read.used->joules(), 3);
  EXPECT_EQ(read.used->per_cycle(), 2);
  EXPECT_EQ(read.used->cache_misses(), 1.5);
  EXPECT_EQ(read.used->throttled_samples(), 1);
}

TEST(UsageOfALine, IsNotThereWhereTheMachineTellsNothing) {
  CellResult cell = sample_cell();
  const ordered_json all = to_json(cell);
  cell.used.reset();
  const ordered_json line = to_json(cell);
  for (const char* key : {"energy_j", "counters", "throttled"}) {
    EXPECT_TRUE(all.contains(key)) << key;
    EXPECT_FALSE(line.contains(key)) << key;
  }
  EXPECT_FALSE(from_json(line).used);
  cell.used = Used{};
  cell.used->samples.cycles = {1, 2, 3};
  const ordered_json cycles = to_json(cell);
  EXPECT_FALSE(cycles.contains("energy_j") || cycles.contains("throttled"));
  EXPECT_EQ(cycles["counters"].size(), 1u);
  const CellResult read = from_json(cycles);
  EXPECT_FALSE(read.used->joules() || read.used->per_cycle() || read.used->throttled_samples());
}

TEST(UsageOfALine, ThatNoMachineUsesIsRefused) {
  const auto refusal = [](const char* place, const ordered_json& value) -> std::string {
    ordered_json line = to_json(sample_cell());
    line[ordered_json::json_pointer(place)] = value;
    try {
      from_json(line);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto expect = [&](const char* place, const ordered_json& value, const std::string& part) {
    const std::string found = refusal(place, value);
    EXPECT_NE(found.find(part), std::string::npos) << place << " " << value << ": " << found;
  };
  EXPECT_EQ(refusal("/energy_j/samples/0", 2.75), "accepted");
  expect("/energy_j/samples/0", -1, "energy_j.samples: found a list; allowed is a number above 0");
  expect("/energy_j/samples/0", 0, "energy_j.samples");
  expect("/energy_j/samples/0", 1e6, "at most 1e+06 per second");
  expect("/energy_j/samples/0", "3", "energy_j.samples");
  expect("/energy_j/samples", {3, 4}, "for each of 3 samples");
  expect("/energy_j/samples", "many", "energy_j.samples");
  expect("/energy_j/median", 5, "energy_j.median: found 5; allowed is the median of its samples");
  expect("/energy_j/idle_share", 1.5, "idle_share: found 1.5; allowed is a share");
  expect("/energy_j/idle_share", -0.5, "idle_share");
  expect("/energy_j", 3, "energy_j: found 3; allowed is an object");
  expect("/counters/instructions/samples/2", 0, "counters.instructions.samples");
  expect("/counters/cycles/samples/1", 1e15, "counters.cycles.samples");
  EXPECT_EQ(refusal("/counters/cache_misses/samples/2", 0), "accepted") << "1.5 is between 0 and 7";
  expect("/counters/cache_misses/samples/0", -1, "of 0 and above");
  expect("/throttled/samples/0", -2, "throttled.samples");
  expect("/throttled/samples/0", 1e10, "at most 1e+09");
}

TEST(Credible, IsAKindThatEverySampleHas) {
  const machine::UsageSamples all = sample_usage().samples;
  EXPECT_EQ(credible(all, kSeconds)->samples.joules, all.joules);
  machine::UsageSamples some = all;
  some.cycles.pop_back();
  some.joules[1] = 0;
  some.cache_misses[1] = std::numeric_limits<double>::infinity();
  some.throttled[0] = -1;
  const std::optional<Used> left = credible(some, kSeconds);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->samples.instructions, all.instructions);
  EXPECT_TRUE(left->samples.cycles.empty() && left->samples.joules.empty());
  EXPECT_TRUE(left->samples.cache_misses.empty() && left->samples.throttled.empty());
  some.instructions.clear();
  EXPECT_FALSE(credible(some, kSeconds));
}

// What is written is never refused when it is read.
TEST(Credible, IsWhatTheReaderAccepts) {
  for (const double joules : {0.0, 1e-9, 2e5, 9e5, 2e6}) {
    CellResult cell = sample_cell();
    cell.used->samples.joules = {joules, joules, joules};
    const std::optional<Used> kept = credible(cell.used->samples, kSeconds);
    const bool accepted = !kept->samples.joules.empty();
    if (accepted) {
      EXPECT_NO_THROW(from_json(to_json(cell))) << joules;
    } else {
      EXPECT_THROW(from_json(to_json(cell)), InvalidArgument) << joules;
    }
  }
}

TEST(IdleShare, IsWhatTheIdleMachineWouldHaveUsed) {
  EXPECT_DOUBLE_EQ(idle_share(20, 0.5, 40), 0.25);
  EXPECT_EQ(idle_share(20, 0.5, 5), 1) << "never more than all";
}

TEST(IdlePower, IsAPeakThatOldFoldersLack) {
  Peaks peaks;
  EXPECT_FALSE(to_json(peaks).contains("idle_watts"));
  peaks.idle_watts = 12.5;
  EXPECT_EQ(peaks_of({{"peaks", to_json(peaks)}}).idle_watts, 12.5);
  for (const ordered_json& value : {ordered_json(-1), ordered_json(0), ordered_json("12")}) {
    EXPECT_FALSE(peaks_of({{"peaks", {{"idle_watts", value}}}}).idle_watts) << value;
  }
}

}  // namespace
}  // namespace headroom::record::usage_test
