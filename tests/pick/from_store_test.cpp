#include "pick/neighbours/from_store.hpp"

#include <gtest/gtest.h>

#include <string>

#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "pick/lines.hpp"
#include "store/origin.hpp"
#include "support/sample_store.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::pick::from_store_test {
namespace {

using nlohmann::ordered_json;
using test::machine_environment;
using test::steady;

class FromStore : public test::SampleStore {
 protected:
  StoreAnswer ask(StoreQuestion question) const {
    StoredResults results;
    return pick_from_store(store::catalogue_of(path_), question, results);
  }
};

StoreQuestion question_of(const ordered_json& here) {
  StoreQuestion question;
  question.here = here;
  return question;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(FromStore, TheNewestVersionOfThisMachineDecides) {
  ordered_json older = machine_environment("Here", 1024, "old");
  ordered_json newer = machine_environment("Here", 1024, "new");
  older["build"]["committed"] = "2026-11-01T00:00:00Z";
  newer["build"]["committed"] = "2026-11-02T00:00:00Z";
  older["time"] = "2026-11-28T00:00:00Z";  // measured later, but of the older version
  put("here/old", older, {steady("tbb", 1e-3), steady("xsimd", 2e-3)});
  put("here/new", newer, {steady("tbb", 2e-3), steady("xsimd", 1e-3)});
  put("other/1", machine_environment("Other", 1024), {steady("onednn", 1e-3)});
  const StoreAnswer answer = ask(question_of(machine_environment("Here", 1024, "mine")));
  EXPECT_EQ(answer.pick.choice().backend, "xsimd");
  EXPECT_FALSE(answer.pick.borrowed);
  EXPECT_EQ(answer.folder->path.filename(), "new");
  EXPECT_FALSE(contains(to_text(answer.pick), "borrowed"));
}

TEST_F(FromStore, ElseTheNearestMachineDecidesAndItSaysSo) {
  put("near/1", machine_environment("Near", 2048), {steady("tbb", 1e-3), steady("xsimd", 2e-3)});
  put("far/1", machine_environment("Far", 8192), {steady("tbb", 2e-3), steady("xsimd", 1e-3)});
  const ordered_json here = machine_environment("New <one>", 1024);
  const StoreAnswer answer = ask(question_of(here));
  EXPECT_EQ(answer.pick.choice().backend, "tbb");
  ASSERT_TRUE(answer.pick.borrowed);
  EXPECT_TRUE(answer.pick.borrowed->machine.starts_with("near-")) << answer.pick.borrowed->machine;
  EXPECT_EQ(answer.pick.borrowed->distance, 1);
  const std::string text = to_text(answer.pick);
  EXPECT_TRUE(contains(text.substr(0, text.find('\n')), ", borrowed from near-")) << text;
  for (const char* part : {"New <one>", "how near: near (distance 1.00)", "same vendor",
                           "2 times the L2 of a core", "not known: model", "measure"}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
  EXPECT_TRUE(contains(to_cmake(answer.pick), "# borrowed: ")) << to_cmake(answer.pick);
}

// `auto` believes a file of a processor of the same name; what is borrowed is nobody's own.
TEST_F(FromStore, ABorrowedTuningFileIsNotTakenForOnesOwn) {
  ordered_json twin = machine_environment(tuning::this_machine().processor, 2048);
  twin["processor"]["architecture"] = tuning::this_machine().architecture;
  put("twin/1", twin, {steady("tbb", 1e-3)});
  ordered_json here = twin;
  StoreAnswer answer = ask(question_of(here));
  EXPECT_EQ(stale_reason(tuning::parse_tuning("own", to_json(answer.pick))), "");
  here["processor"]["caches"][1]["bytes"] = 4 << 20;
  answer = ask(question_of(here));
  ASSERT_TRUE(answer.pick.borrowed);
  const ordered_json json = ordered_json::parse(to_json(answer.pick));
  EXPECT_EQ(json["borrowed"]["nearness"], "near");
  EXPECT_NE(stale_reason(tuning::parse_tuning("borrowed", to_json(answer.pick))), "");
}

TEST_F(FromStore, WhoHasNotTheShapesIsPassedOver) {
  put("here/1", machine_environment("Here", 1024), {steady("tbb", 1e-3, 4)});
  put("near/2", machine_environment("Near", 1024, "new", "2026-11-24T12:00:00Z"),
      {steady("tbb", 1e-3, 4)});
  put("near/1", machine_environment("Near", 1024), {steady("xsimd", 1e-3, 16)});
  put("far/1", machine_environment("Far", 8192), {steady("onednn", 1e-3, 16)});
  StoreQuestion question = question_of(machine_environment("Here", 1024));
  question.shapes = {steady("tbb", 1, 16).shape};
  const StoreAnswer answer = ask(question);
  EXPECT_EQ(answer.pick.choice().backend, "xsimd");
  ASSERT_TRUE(answer.pick.borrowed);
  EXPECT_EQ(answer.notes.size(), 2U);
  question.shapes = {steady("tbb", 1, 64).shape};
  EXPECT_THROW(ask(question), InvalidArgument);
}

TEST_F(FromStore, AMachineCanBeNamed) {
  put("here/1", machine_environment("Here", 1024), {steady("tbb", 1e-3)});
  put("far/1", machine_environment("Far", 8192), {steady("xsimd", 1e-3)});
  StoreQuestion question = question_of(machine_environment("Here", 1024));
  question.machine = store::origin_of(machine_environment("Far", 8192)).machine;
  const StoreAnswer answer = ask(question);
  ASSERT_TRUE(answer.pick.borrowed);
  EXPECT_TRUE(answer.pick.borrowed->named);
  EXPECT_TRUE(contains(to_text(answer.pick), "which you named"));
  question.machine = store::origin_of(machine_environment("Here", 1024)).machine;
  EXPECT_FALSE(ask(question).pick.borrowed);
  question.machine = "faar";
  try {
    ask(question);
    FAIL() << "a machine that is not there was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(contains(error.what(), "far-")) << error.what();
  }
}

TEST_F(FromStore, AnotherArchitectureHasNoAnswer) {
  put("arm/1", machine_environment("Arm", 1024), {steady("tbb", 1e-3)});
  ordered_json here = machine_environment("Here", 1024);
  here["processor"]["architecture"] = "aarch64";
  StoreQuestion question = question_of(here);
  EXPECT_THROW(ask(question), Unavailable);
  question.machine = store::origin_of(machine_environment("Arm", 1024)).machine;
  EXPECT_THROW(ask(question), Unavailable);
}

TEST_F(FromStore, NoMoreThreadsAreBorrowedThanThereAreCores) {
  ordered_json four = machine_environment("Four", 1024);
  four["allowed_cores"] = 4;
  put("four/1", four,
      {steady("tbb", 1e-3, 4, 4), steady("tbb", 3e-3, 4, 2), steady("xsimd", 5e-3)});
  EXPECT_EQ(ask(question_of(machine_environment("Here", 1024))).pick.choice().threads, 2);
  ordered_json here = machine_environment("Here", 1024);
  here["allowed_cores"] = 8;
  EXPECT_EQ(ask(question_of(here)).pick.choice().threads, 4);
}

TEST_F(FromStore, OneBrokenRunDoesNotHideTheRest) {
  put("near/1", machine_environment("Near", 1024), {steady("tbb", 1e-3)});
  put("near/2", machine_environment("Near", 1024, "new", "2026-11-24T12:00:00Z"),
      {steady("xsimd", 1e-3)});
  write("near/2/results.jsonl", "broken\nlines\n");
  write("odd/1/environment.json", "{");
  write("odd/1/results.jsonl", "");
  EXPECT_EQ(store::catalogue_of(path_).notes.size(), 1U);
  const StoreAnswer answer = ask(question_of(machine_environment("Here", 1024)));
  EXPECT_EQ(answer.pick.choice().backend, "tbb");
  EXPECT_EQ(answer.notes.size(), 1U);
}

TEST_F(FromStore, ThisMachineTellsItsFacts) {
  const store::MachineFacts facts = store::facts_of(this_machine(select_target(), nullptr));
  EXPECT_FALSE(facts.architecture.empty());
  EXPECT_FALSE(facts.level.empty());
  EXPECT_GT(facts.cores, 0);
}

}  // namespace
}  // namespace headroom::pick::from_store_test
