// headroom collect and headroom pick --from STORE, run as a user runs them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "record/environment.hpp"
#include "store/origin.hpp"
#include "support/cli.hpp"
#include "support/hostile.hpp"
#include "support/sample_peers.hpp"
#include "support/sample_store.hpp"

namespace headroom::collect_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::machine_environment;
using test::Outcome;
using test::steady;

class CliCollect : public test::Cli {
 protected:
  void SetUp() override {
    test::Cli::SetUp();
    test::write_sample_folder(path_ / "a", {steady("tbb", 1e-3), steady("xsimd", 2e-3)},
                              machine_environment("A", 1024));
    test::write_sample_folder(path_ / "b", {steady("tbb", 3e-3), steady("xsimd", 1e-3)},
                              machine_environment("B", 2048));
  }
  std::string machine_of(const std::string& folder) const {
    return store::origin_of(
               ordered_json::parse(test::read_all(path_ / folder / "environment.json")))
        .machine;
  }
};

TEST_F(CliCollect, TakesWhatIsNewAndSaysSo) {
  expect("$headroom collect a b --into store --dry-run", 0,
         {"a -> " + machine_of("a") + "/0.1.0-abc123", "2 cells, 2 with a time",
          "noise floor not known", "2 folders in store: 2 new, 0 grown", "--dry-run"});
  EXPECT_FALSE(fs::exists(path_ / "store"));
  expect("$headroom collect a b --into store", 0, {"2 folders in store: 2 new"});
  expect("$headroom collect a --into store", 0, {"nothing new, 2 cells there already"});
  expect("$headroom collect store --into other", 0, {"2 folders in other: 2 new"});
  EXPECT_EQ(run("diff -r -x .collecting store other").code, 0);
  test::write_sample_folder(path_ / "c", {test::of_one_launch(steady("tbb", 1e-3))},
                            machine_environment("C", 1024));
  expect("$headroom collect c --into store", 0,
         {"c: its samples are of one process", "nothing taken", "1 without anything new"});
  expect("git init -q store && git -C store status --porcelain", 0, {"?? " + machine_of("a")});
  EXPECT_EQ(run("git -C store status --porcelain | grep collecting").code, 1);
}

// A field that a sweep begins to write has no line in the list of what a store keeps: here it
// shows.
TEST_F(CliCollect, LeavesNothingOutOfWhatASweepWrites) {
  const std::string sweep =
      "$headroom sweep --heads 1,2 --head-dim 4 --tokens 3 --repetitions 2 --min-time 0.001 "
      "--threads 1 --backend naive --formulation split --out own";
  expect("SLURMD_NODENAME= " + sweep + " --shard 1/2", 0, {});
  expect("SLURMD_NODENAME= " + sweep + " --shard 1/2 --resume", 0, {});
  const Outcome outcome = run("$headroom collect own --into store");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ((outcome.output + outcome.errors).find("left out of"), std::string::npos)
      << outcome.output << outcome.errors;
  EXPECT_EQ((outcome.output + outcome.errors).find("does not know"), std::string::npos);
}

TEST_F(CliCollect, SaysWhatIsWrong) {
  expect("$headroom collect a", 2, {"--into"});
  expect("$headroom collect --into store", 2, {"DIR"});
  expect("$headroom collect nowhere --into store", 3, {"nowhere", "does not exist"});
  expect("$headroom collect a --into b", 2, {"--into", "results folder"});
  write("file", "a text");
  expect("$headroom collect a --into file", 4, {"file"});
  write("c/environment.json", "{}");
  write("c/results.jsonl", "");
  expect("$headroom collect a c --into store", 3, {"c/environment.json", "schema"});
  EXPECT_FALSE(fs::exists(path_ / "store"));
}

TEST_F(CliCollect, ShowsNothingThatATerminalObeys) {
  ordered_json environment = test::environment_with_peers();
  environment["processor"]["name"] = test::kHostile;
  environment[test::kHostile] = test::kHostile;
  environment["build"]["git_revision"] = test::kHostile;
  std::string lines;
  for (const record::CellResult& result : test::cells_with_peers()) {
    ordered_json line = to_json(result);
    line["id"] = line["id"].get<std::string>() + test::kHostile;
    line["warnings"] = {test::kHostile};
    lines += line.dump() + "\n";
  }
  write("hostile/environment.json", environment.dump());
  write("hostile/results.jsonl", lines);
  const Outcome outcome = run("$headroom collect hostile --into store");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(test::obeyed(outcome.output) + test::obeyed(outcome.errors), "");
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path_ / "store")) {
    if (!entry.is_regular_file()) continue;
    const std::string text = test::read_all(entry.path());
    EXPECT_EQ(test::obeyed(text), "") << entry.path();
    EXPECT_EQ(text.find("alert(1)"), std::string::npos) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 2U);
}

TEST_F(CliCollect, AnotherCollectorIsWaitedForByName) {
  ASSERT_EQ(run("$headroom collect a --into store").code, 0);
  // A shell's lock is of another kind; the program's own holds it while it waits for its input.
  const std::string hold =
      "python3 - <<'E' &\n"
      "import fcntl, time\n"
      "f = open('store/.collecting/sweep.lock', 'r+')\n"
      "fcntl.lockf(f, fcntl.LOCK_EX)\n"
      "open('held', 'w').close()\n"
      "time.sleep(60)\n"
      "E\n"
      "holder=$!; for i in $(seq 600); do [ -e held ] && break; sleep 0.1; done\n";
  expect(hold + "$headroom collect b --into store; code=$?; kill $holder; exit $code", 4,
         {"is being written by process", "--into"});
}

TEST_F(CliCollect, APickFromAStoreIsBorrowedOrOnesOwn) {
  ASSERT_EQ(run("$headroom collect a b --into store").code, 0);
  const std::string a = machine_of("a"), b = machine_of("b");
  expect("$headroom pick --from store", 0,
         {"use split/", ", borrowed from ", "how near: ", "how sure: asked about each other"});
  expect("$headroom pick --from store --machine " + b, 0,
         {"use split/xsimd, 1 thread, borrowed from " + b, "which you named"});
  expect("$headroom pick --from store --machine " + a + " --emit json", 0,
         {"\"borrowed\"", "\"named\": true"});
  expect("$headroom pick --from store --machine nobody", 2, {"'nobody'", a, b});
  // Measured here, it needs no neighbour.
  ordered_json own = record::describe_environment(select_target());
  own["conditions"]["node"] = "node7";
  test::write_sample_folder(path_ / "own", {steady("naive", 1e-3), steady("xsimd", 2e-3)}, own);
  ASSERT_EQ(run("$headroom collect own --into store").code, 0);
  const Outcome outcome = run("$headroom pick --from store");
  EXPECT_EQ(outcome.output.substr(0, 15), "use split/naive") << outcome.output << outcome.errors;
  EXPECT_EQ(outcome.output.find("borrowed"), std::string::npos);
  EXPECT_EQ(run("grep -r node7 store").code, 1);
}

TEST_F(CliCollect, LeavesOneOut) {
  ASSERT_EQ(run("$headroom collect a b --into store").code, 0);
  expect("$headroom pick --from store --leave-one-out", 0,
         {machine_of("a"), machine_of("b"), "3.00", "B1_T4_D8_H2"});
  expect("$headroom pick --from store --leave-one-out --emit json --output table.json", 0, {});
  EXPECT_EQ(ordered_json::parse(test::read_all(path_ / "table.json"))["schema"],
            "headroom.leave-one-out/1");
  expect("$headroom pick --from store --leave-one-out --emit cmake", 2, {"--emit"});
  expect("$headroom pick --from store --leave-one-out --machine x", 2, {"one"});
  expect("$headroom pick --leave-one-out", 2, {"--from"});
  expect("$headroom pick --from a --leave-one-out", 2, {"one run"});
  expect("$headroom pick --from a --machine x", 2, {"one run"});
  expect("$headroom pick --from nowhere --machine x", 3, {"nowhere"});
}

}  // namespace
}  // namespace headroom::collect_test
