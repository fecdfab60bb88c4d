// The machine in words: what is known, and why the rest is not.
#include "show/machine_words.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "record/environment.hpp"

namespace headroom::show::machine_words_test {
namespace {

using nlohmann::ordered_json;

ordered_json sample_conditions() {
  return {{"conditions",
           {{"governor", nullptr},
            {"turbo", true},
            {"load", 0.25},
            {"huge_pages", nullptr},
            {"clock_ghz", 3.456},
            {"openmp_wait_policy", "passive"},
            {"unavailable", {{"governor", "not available: /sys/governor: No such file"}}}}}};
}

TEST(MachineWords, ConditionsThatAreNotKnownSayWhy) {
  EXPECT_EQ(condition_lines(sample_conditions()),
            (std::vector<std::string>{"turbo on, load 0.25, OpenMP wait policy passive",
                                      "governor not available: /sys/governor: No such file",
                                      "huge pages not known"}));
  for (const std::string& line : condition_lines(ordered_json::object())) {
    EXPECT_TRUE(line.ends_with(" not known")) << line;
  }
  EXPECT_EQ(condition_lines({{"conditions", {1}}}).size(), 5u) << "a strange record is no crash";
}

TEST(MachineWords, TheClockOrWhyThereIsNone) {
  ordered_json environment = sample_conditions();
  EXPECT_EQ(clock_words(environment), "3.46 GHz");
  environment["conditions"]["clock_ghz"] = nullptr;
  EXPECT_EQ(clock_words(environment), "not known");
  environment["conditions"]["unavailable"]["clock_ghz"] = "not available: no such instruction";
  EXPECT_EQ(clock_words(environment), "not available: no such instruction");
}

// A processor with tiles that are announced, refused by the kernel, or hidden by the hypervisor.
ordered_json described(const Target& target, const UnitFacts& facts) {
  return record::describe_target(target, facts);
}

TEST(MachineWords, TilesAreAUnitAndNoLevel) {
  UnitFacts facts{true, {true, true, 0x600e7, 1, 0}};
  if (const std::string reason = why_no_unit(Unit::amx, Isa::avx512, facts);
      reason.starts_with("this build")) {
    GTEST_SKIP() << reason;
  }
  const ordered_json here = described({Isa::avx512, Unit::amx}, facts);
  EXPECT_EQ(here["isa"], "avx512");
  EXPECT_EQ(here["unit"], "amx");
  EXPECT_EQ(here["missing_units"], ordered_json::object());
  EXPECT_EQ(unit_words(here), "amx (available: emulated, none, avx512_bf16, amx)");
  for (const ordered_json& level : here["available_isas"]) EXPECT_NE(level, "amx");
}

TEST(MachineWords, AUnitThatIsMissingSaysWhy) {
  UnitFacts facts{true, {true, true, 0x600e7, 1, EPERM}};
  ordered_json here = described({Isa::avx512, Unit::avx512_bf16}, facts);
  const std::string words = unit_words(here);
  // A build for one processor alone may lack the unit that another has.
  if (why_no_unit(Unit::avx512_bf16, Isa::avx512, facts).empty()) {
    EXPECT_EQ(words.find("avx512_bf16 (available: emulated, none, avx512_bf16); no amx"), 0u)
        << words;
  } else {
    EXPECT_NE(words.find("no avx512_bf16: this build"), std::string::npos) << words;
  }
  EXPECT_NE(words.find("; no amx: the kernel does not let this process use tiles (AMX): Operation "
                       "not permitted"),
            std::string::npos)
      << words;
  facts.tiles.palettes = 0;
  here = described({Isa::avx512, Unit::avx512_bf16}, facts);
  EXPECT_NE(unit_words(here).find("no amx: the hypervisor hides"), std::string::npos);
  here = described({Isa::avx2, Unit::none}, facts);
  EXPECT_NE(unit_words(here).find("no avx512_bf16: code for it is of level avx512"),
            std::string::npos);
  EXPECT_EQ(unit_words(ordered_json::object()).find("unknown"), 0u)
      << unit_words(ordered_json::object());
}

TEST(MachineWords, TheLastLevelIsThatOfAllCores) {
  ordered_json environment;
  EXPECT_EQ(last_level_words(environment), "");
  environment["processor"]["last_level_total_bytes"] = std::int64_t{64} << 20;
  EXPECT_EQ(last_level_words(environment), "last level of all cores 64.0 MiB");
  environment["processor"]["last_level_total_bytes"] = 0;
  EXPECT_EQ(last_level_words(environment), "last level of all cores not known");
}

record::Peaks sample_peaks() {
  record::Peaks peaks;
  peaks.fma_gflops = {{1, 100}, {2, 190}};
  peaks.sustained_gflops = {{1, 99}, {2, 150}};
  peaks.clock_ghz = {{1, 3.5}, {2, 3.5}};
  peaks.sustained_clock_ghz = {{1, 3.49}, {2, 2.8}};
  return peaks;
}

TEST(MachineWords, ARoofNamesItsClockAndWhetherItIsOneOfBursts) {
  record::Peaks peaks = sample_peaks();
  EXPECT_EQ(fma_peak_words(peaks, 1), "100.0 GFLOP/s at 3.50 GHz, sustained 99.0 at 3.49 GHz");
  EXPECT_EQ(fma_peak_words(peaks, 2),
            "190.0 GFLOP/s at 3.50 GHz, only in bursts (190.0 GFLOP/s in bursts and 150.0 over "
            "0.3 s: the clock fell from 3.50 to 2.80 GHz)");
  EXPECT_EQ(fma_peak_words(peaks, 4), "");
  peaks.clock_ghz.clear();
  peaks.sustained_clock_ghz.clear();
  EXPECT_EQ(fma_peak_words(peaks, 1), "100.0 GFLOP/s, sustained 99.0");
  peaks.sustained_gflops.clear();
  EXPECT_EQ(fma_peak_words(peaks, 2), "190.0 GFLOP/s") << "an old record";
  peaks.tile_gflops = {{2, 171}};
  EXPECT_EQ(fma_peak_words(peaks, 2),
            "190.0 GFLOP/s; register tiles from the L1 171.0 GFLOP/s (90 % of the multiply-adds)");
  EXPECT_EQ(fma_peak_words(peaks, 1), "100.0 GFLOP/s") << "no tiles on as many threads";
  peaks.tile_gflops = {{2, 199.5}};
  EXPECT_EQ(fma_peak_words(peaks, 2),
            "190.0 GFLOP/s; register tiles from the L1 199.5 GFLOP/s (105 % of the multiply-adds, "
            "which were measured while the machine was slower)");
}

TEST(Peaks, AreReadBackAsWritten) {
  record::Peaks peaks = sample_peaks();
  peaks.tile_gflops = {{1, 90}, {2, 171}};
  const record::Peaks read = record::peaks_of({{"peaks", to_json(peaks)}});
  EXPECT_EQ(to_json(read), to_json(peaks));
  EXPECT_EQ(read.sustained_gflops, peaks.sustained_gflops);
  EXPECT_EQ(read.clock_ghz, peaks.clock_ghz);
  EXPECT_EQ(read.sustained_clock_ghz, peaks.sustained_clock_ghz);
  EXPECT_EQ(read.tile_gflops, peaks.tile_gflops);
}

TEST(Peaks, OfAnOldOrStrangeRecordLackWhatIsNotThere) {
  const ordered_json old = {{"fma_gflops_by_threads", {{"1", 100.0}, {"x", 1}, {"2", "fast"}}}};
  const record::Peaks read = record::peaks_of({{"peaks", old}});
  EXPECT_EQ(read.fma_gflops, (std::map<int, double>{{1, 100.0}}));
  EXPECT_TRUE(read.clock_ghz.empty());
  EXPECT_EQ(read.why_not_held(1), "");
  EXPECT_TRUE(record::peaks_of(nullptr).fma_gflops.empty());
}

}  // namespace
}  // namespace headroom::show::machine_words_test
