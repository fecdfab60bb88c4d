#include "store/kept_places.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "plan/axes.hpp"
#include "program/json_text.hpp"
#include "record/environment.hpp"
#include "store/kept_list.hpp"
#include "store/origin.hpp"
#include "support/sample_peers.hpp"

namespace headroom::store::kept_places_test {
namespace {

using nlohmann::ordered_json;

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// Nothing that this program writes about a machine is unknown to the list, but for the node.
TEST(KeptPlaces, HoldAllThatThisProgramSaysOfAMachine) {
  ordered_json environment = record::describe_environment(select_target());
  environment["conditions"].erase("node");
  environment["sweep"] = {{"repetitions", 9}, {"seed", 1}, {"budget_s", nullptr}};
  environment["sweep"]["identity"] = {
      {"axes", {{"heads", "1,2"}, {"backend", "all"}, {"causal", true}}}, {"shard", nullptr}};
  const KeptEnvironment kept = kept_of(environment, PlainWords());
  EXPECT_TRUE(kept.left_out.empty()) << kept.left_out.front();
  EXPECT_EQ(kept.environment.dump(2), environment.dump(2));
  EXPECT_EQ(origin_of(kept.environment).machine, origin_of(environment).machine);
}

// Whoever adds a field says in a line of the list whether it stays.
TEST(KeptPlaces, EveryFieldThatThisProgramWritesHasALine) {
  ordered_json environment = record::describe_environment(select_target());
  environment["conditions"]["node"] = "node7";
  KeptEnvironment kept = kept_of(environment, PlainWords());
  EXPECT_EQ(fmt::format("{}", fmt::join(kept.unlisted, " ")), "");
  EXPECT_TRUE(contains(kept.left_out, "conditions/node"));
  environment["conditions"]["user"] = "ann";
  kept = kept_of(environment, PlainWords());
  EXPECT_EQ(fmt::format("{}", fmt::join(kept.unlisted, " ")), "conditions/user");
}

// What was measured and published so far, with other libraries and by older versions.
TEST(KeptPlaces, EveryFieldThatWasEverPublishedHasALine) {
  namespace fs = std::filesystem;
  std::size_t read = 0;
  for (const auto& entry : fs::recursive_directory_iterator(
           HEADROOM_TEST_DATA "/../../reports", fs::directory_options::skip_permission_denied)) {
    if (entry.path().filename() != "environment.json") continue;
    std::ifstream file(entry.path());
    const KeptEnvironment kept = kept_of(ordered_json::parse(file), PlainWords());
    EXPECT_EQ(fmt::format("{}", fmt::join(kept.unlisted, " ")), "") << entry.path();
    ++read;
  }
  EXPECT_GT(read, 10U);
}

TEST(KeptPlaces, EveryAxisHasALine) {
  const plan::Axes axes;
  plan::Axes::each(axes, [](const auto& axis) {
    const std::string_view name = axis.words().name;
    const auto listed = listed_axes();
    EXPECT_TRUE(std::any_of(listed.begin(), listed.end(), [&](const Place& place) {
      return place.path == name;
    })) << name;
  });
}

TEST(KeptPlaces, NoLineIsTwice) {
  for (const auto list : {listed_places(), listed_axes()}) {
    std::set<std::string_view> seen;
    for (const Place& place : list) EXPECT_TRUE(seen.insert(place.path).second) << place.path;
  }
}

TEST(KeptPlaces, LeaveOutWhatIsNotInTheList) {
  ordered_json environment = test::sample_environment();
  environment["user"] = "ann";
  environment["conditions"] = {{"node", "node7"}, {"load", 0.5}};
  environment["sweep"]["weights"] = {
      {"file", "/home/ann/x.gguf"}, {"layer", "model.0"}, {"fingerprint", "90ab12cd34ef5678"}};
  environment["sweep"]["identity"]["axes"] = {
      {"weights", "x.gguf"}, {"tensor", {"a=b"}}, {"heads", "1,2"}};
  environment["build"]["git_revision"] = "node1.cluster.example";
  environment["allowed_cores"] = "two";
  environment["peers"]["rival"] = {{"version", "1"}, {"packages", {{"of-ann", "2"}}}};
  environment["resumed"] = {{{"time", "2026-11-21T23:10:07Z"}, {"conditions", {{"node", "n"}}}}};
  const KeptEnvironment kept = kept_of(environment, PlainWords());
  for (const char* place : {"user", "conditions/node", "sweep/weights/file", "sweep/weights/layer",
                            "sweep/identity/axes", "build/git_revision", "allowed_cores",
                            "resumed/*/conditions", "peers/rival/packages"}) {
    EXPECT_TRUE(contains(kept.left_out, place)) << place;
  }
  const std::string text = kept.environment.dump();
  for (const char* part : {"ann", "node", "gguf", "model.0", "a=b", "two"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(value_at(kept.environment, "/sweep/weights/fingerprint"), "90ab12cd34ef5678");
  EXPECT_EQ(value_at(kept.environment, "/sweep/identity/axes/heads"), "1,2");
  EXPECT_EQ(value_at(kept.environment, "/resumed/0/time"), "2026-11-21T23:10:07Z");
}

// Without its name under `peers` a rival would be taken for a backend of ours, and recommended.
TEST(KeptPlaces, EveryPeerStaysOne) {
  ordered_json environment = test::environment_with_peers();
  environment["peers"]["silent"] = ordered_json::object();
  environment["peers"]["odd"] = 7;
  const KeptEnvironment kept = kept_of(environment, PlainWords());
  for (const char* peer : {"steady", "rapid", "absent", "silent", "odd"}) {
    EXPECT_TRUE(kept.environment["peers"].contains(peer)) << peer;
  }
  EXPECT_EQ(value_at(kept.environment, "/peers/rapid/version"), "rapid 1.0");
  EXPECT_EQ(value_at(kept.environment, "/peers/rapid/settings/streams"), 1);
  EXPECT_TRUE(value_at(kept.environment, "/peers/rapid/packages").is_null());
}

TEST(KeptPlaces, WhatIsNestedWithoutASenseGoes) {
  ordered_json environment = test::sample_environment();
  for (const char* place : {"warnings", "resumed", "conditions", "sweep"}) {
    ordered_json deep = "a text";
    for (int depth = 0; depth < 60; ++depth) deep = ordered_json::array({deep});
    environment[place] = deep;
  }
  const std::string text = kept_of(environment, PlainWords()).environment.dump();
  EXPECT_EQ(text.find("a text"), std::string::npos) << text;
}

TEST(KeptPlaces, RoofsAreNumbersOnly) {
  ordered_json environment = test::sample_environment();
  environment["peaks"] = {
      {"isa", "avx2"}, {"fma_gflops_by_threads", {{"1", 100.5}, {"ann", "x"}}}, {"note", "by ann"}};
  environment["resumed"] = {{{"peaks", environment["peaks"]}}};
  const KeptEnvironment kept = kept_of(environment, PlainWords());
  for (const char* place :
       {"/peaks/fma_gflops_by_threads", "/resumed/0/peaks/fma_gflops_by_threads"}) {
    EXPECT_EQ(value_at(kept.environment, place), ordered_json({{"1", 100.5}})) << place;
  }
  EXPECT_EQ(kept.environment.dump().find("ann"), std::string::npos);
}

}  // namespace
}  // namespace headroom::store::kept_places_test
