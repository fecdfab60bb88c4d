#include "store/origin.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "record/environment.hpp"

namespace headroom::store::origin_test {
namespace {

using nlohmann::ordered_json;

ordered_json sample_environment() {
  return ordered_json::parse(R"({"headroom": "0.1.0", "time": "2026-11-21T23:10:07Z",
    "processor": {"name": "AMD EPYC", "vendor": "AuthenticAMD", "architecture": "x86_64",
                  "caches": [{"name": "L1d", "bytes": 32768}, {"name": "L2", "bytes": 1048576}]},
    "allowed_cores": 2, "available_isas": ["sse4.2", "avx2", "avx512"],
    "available_units": ["emulated", "none"],
    "build": {"git_revision": "e181bf591749-dirty+933c9d2a79017812"}})");
}

TEST(Origin, NamesTheMachineAndTheVersion) {
  const Origin origin = origin_of(sample_environment());
  EXPECT_TRUE(origin.machine.starts_with("amd-epyc-zen4-2-cores-")) << origin.machine;
  EXPECT_EQ(origin.version, "0.1.0-e181bf591749-dirty+933c9d2a79017812");
  EXPECT_EQ(origin.processor, "AMD EPYC (Zen 4 class), 2 cores, avx512");
  EXPECT_EQ(origin.age(), "2026-11-21T23:10:07Z");
}

TEST(Origin, TellsProcessorsOfOneNameApart) {
  const std::string first = origin_of(sample_environment()).machine;
  ordered_json other = sample_environment();
  other["processor"]["caches"][0]["bytes"] = 49152;
  EXPECT_NE(origin_of(other).machine, first);
  other = sample_environment();
  other["available_units"].push_back("amx");
  EXPECT_NE(origin_of(other).machine, first);
  other = sample_environment();
  other["allowed_cores"] = 4;
  EXPECT_NE(origin_of(other).machine, first);
}

TEST(Origin, HasANameThatReadersTellApart) {
  const auto machine = [](const char* name, const char* vendor, const char* level, int l1d, int l2,
                          bool tiles) {
    ordered_json environment = sample_environment();
    environment["processor"]["name"] = name;
    environment["processor"]["vendor"] = vendor;
    environment["processor"]["caches"] = {{{"name", "L1d"}, {"bytes", l1d << 10}},
                                          {{"name", "L2"}, {"bytes", l2 << 10}},
                                          {{"name", "L3"}, {"bytes", 32 << 20}}};
    environment["available_isas"] = {"sse4.2", level};
    if (tiles) environment["available_units"].push_back("amx");
    const std::string text = origin_of(environment).machine;
    return text.substr(0, text.rfind('-'));
  };
  EXPECT_EQ(machine("AMD EPYC", "AuthenticAMD", "avx2", 32, 512, false), "amd-epyc-zen3-2-cores");
  EXPECT_EQ(machine("AMD EPYC", "AuthenticAMD", "avx512", 48, 1024, false),
            "amd-epyc-zen5-2-cores");
  EXPECT_EQ(
      machine("Intel(R) Xeon(R) Processor @ 2.60GHz", "GenuineIntel", "avx512", 48, 2048, false),
      "intel-xeon-avx512-2-cores");
  EXPECT_EQ(machine("Intel(R) Xeon(R) Processor", "GenuineIntel", "avx512", 48, 2048, true),
            "intel-xeon-amx-2-cores");
}

TEST(Origin, StaysThatOfTheMachineWhenTheProgramLearnsToRecordMore) {
  const std::string first = origin_of(sample_environment()).machine;
  ordered_json later = sample_environment();
  later["headroom"] = "0.2.0";
  later["processor"]["model"] = "family 25, model 17";
  later["processor"]["features"] = {"fma", "avx512_fp16"};
  later["available_units"].push_back("vnni");
  later["build"]["committed"] = "2026-11-20T00:00:00Z";
  EXPECT_EQ(origin_of(later).machine, first);
  EXPECT_EQ(origin_of(later).age(), "2026-11-20T00:00:00Z");
}

TEST(Origin, OfAnythingIsFitForAFolder) {
  ordered_json hostile = sample_environment();
  hostile["processor"]["name"] = "../../etc/$(id)\n\"'";
  hostile["headroom"] = ".";
  hostile["build"]["git_revision"] = std::string(1000, '/') + "..";
  hostile["available_isas"] = 7;
  for (const ordered_json& environment : {hostile, ordered_json::object(), ordered_json(nullptr)}) {
    const Origin origin = origin_of(environment);
    for (const std::string& name : {origin.machine, origin.version}) {
      EXPECT_FALSE(name.empty());
      EXPECT_LE(name.size(), 60U);
      EXPECT_NE(name.front(), '.');
      EXPECT_EQ(
          name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "._+-"),
          std::string::npos)
          << name;
    }
  }
}

TEST(Origin, OfThisMachineIsKnown) {
  const Origin origin = origin_of(record::describe_environment(select_target()));
  EXPECT_EQ(origin.machine.find("unknown"), std::string::npos) << origin.machine;
  EXPECT_FALSE(origin.measured.empty());
}

}  // namespace
}  // namespace headroom::store::origin_test
