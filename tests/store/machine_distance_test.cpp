#include "store/machine_distance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace headroom::store::machine_distance_test {
namespace {

using nlohmann::ordered_json;

constexpr double kKiB = 1024;

MachineFacts zen4() {
  return {.architecture = "x86_64",
          .vendor = "AuthenticAMD",
          .model = "family 25, model 17",
          .level = "avx512",
          .bf16_vectors = true,
          .multiply_adds = 16,
          .l1d = 32 * kKiB,
          .l2 = 1024 * kKiB,
          .last_level = 16384 * kKiB,
          .cores = 2};
}

MachineFacts zen5() {
  MachineFacts facts = zen4();
  facts.model = "family 26, model 2";
  facts.multiply_adds = 32;
  facts.l1d = 48 * kKiB;
  return facts;
}

MachineFacts granite_rapids() {
  MachineFacts facts = zen5();
  facts.vendor = "GenuineIntel";
  facts.model = "family 6, model 173";
  facts.tiles = true;
  facts.l2 = 2048 * kKiB;
  return facts;
}

TEST(MachineDistances, AMachineIsNoDistanceFromItself) {
  const auto found = distance(zen4(), zen4());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->distance, 0);
  EXPECT_EQ(found->nearness(), Nearness::very_near);
  EXPECT_TRUE(found->different.empty() && found->unknown.empty()) << found->words();
}

TEST(MachineDistances, IsWhatHasTheSameKernels) {
  MachineFacts more_cores = zen4();
  more_cores.cores = 4;
  MachineFacts zen3 = zen4();
  zen3.level = "avx2";
  zen3.bf16_vectors = false;
  zen3.l2 = 512 * kKiB;
  const auto far = [](const MachineFacts& a, const MachineFacts& b) {
    return distance(a, b)->distance;
  };
  EXPECT_LT(far(zen4(), more_cores), far(zen4(), zen5()));
  EXPECT_LT(far(zen4(), zen5()), far(zen4(), zen3));
  EXPECT_LT(far(zen5(), zen4()), far(zen5(), granite_rapids()));
  EXPECT_EQ(far(zen4(), zen3), far(zen3, zen4()));
  MachineFacts without_tiles = granite_rapids();
  without_tiles.tiles = false;
  EXPECT_LT(far(granite_rapids(), without_tiles), far(granite_rapids(), zen5()));
}

// The sum of the header, written out once.
TEST(MachineDistances, IsTheSumThatItsHeaderStates) {
  EXPECT_NEAR(distance(zen4(), granite_rapids())->distance,
              2 + 3 + 2 * 1 + 0.5 * std::log2(1.5) + 1, 1e-9);
  EXPECT_NEAR(distance(zen4(), zen5())->distance, 1 + 2 + 0.5 * std::log2(1.5), 1e-9);
  MachineFacts sibling = zen4();
  sibling.model = "family 25, model 97";
  sibling.last_level *= 4;
  EXPECT_NEAR(distance(zen4(), sibling)->distance, 0.5 + 0.25 * 2, 1e-9);
}

TEST(MachineDistances, SaysWhatIsSameWhatDiffersAndWhatNobodyKnows) {
  MachineFacts other = granite_rapids();
  other.model = "";
  other.multiply_adds = 0;
  const std::string words = distance(zen5(), other)->words();
  for (const char* part : {"same level", "another vendor", "with tiles (AMX)",
                           "2 times the L2 of a core", "not known: multiply-adds a cycle"}) {
    EXPECT_NE(words.find(part), std::string::npos) << part << " in " << words;
  }
}

TEST(MachineDistances, AnotherArchitectureIsNoNeighbour) {
  MachineFacts arm = zen4();
  arm.architecture = "aarch64";
  EXPECT_FALSE(distance(zen4(), arm));
}

TEST(MachineDistances, ReadsTheFactsOfAnEnvironment) {
  const ordered_json environment = ordered_json::parse(R"({
    "processor": {"vendor": "AuthenticAMD", "architecture": "x86_64", "cores": 2,
      "caches": [{"name": "L1d", "bytes": 49152, "count": 2},
                 {"name": "L2", "bytes": 1048576, "count": 1},
                 {"name": "L3", "bytes": 33554432, "count": 1}]},
    "allowed_cores": 2, "available_isas": ["sse4.2", "avx2", "avx512"],
    "available_units": ["emulated", "none", "avx512_bf16"],
    "peaks": {"isa": "avx512", "fma_gflops_by_threads": {"1": 260.5, "2": 511.5},
              "clock_ghz_by_threads": {"1": 4.139}}})");
  const MachineFacts facts = facts_of(environment);
  EXPECT_EQ(facts.level, "avx512");
  EXPECT_TRUE(facts.bf16_vectors);
  EXPECT_FALSE(facts.tiles);
  EXPECT_EQ(facts.multiply_adds, 32);
  EXPECT_EQ(facts.l1d, 49152);
  EXPECT_EQ(facts.l2, 524288);  // one for two cores
  EXPECT_EQ(facts.last_level, 16777216);
  for (const ordered_json& hostile : {ordered_json(nullptr), ordered_json::array(),
                                      ordered_json({{"processor", 7}, {"available_isas", {1}}})}) {
    EXPECT_EQ(facts_of(hostile).multiply_adds, 0);
  }
}

}  // namespace
}  // namespace headroom::store::machine_distance_test
