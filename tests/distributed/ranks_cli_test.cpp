// The program under mpirun, as a user starts it.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>

#include "support/cli.hpp"

namespace headroom::test::ranks_cli_test {
namespace {

using nlohmann::json;

class RanksCli : public Cli {
 protected:
  // More ranks than cores, as any user; other launchers than Open MPI's need not be told.
  static std::string mpirun(int ranks) {
    return "env OMP_WAIT_POLICY=passive OMPI_ALLOW_RUN_AS_ROOT=1 "
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
           "OMPI_MCA_hwloc_base_binding_policy=${binding:-none} '" HEADROOM_MPIEXEC "' -n " +
           std::to_string(ranks) + " ";
  }

  // Kills a rank of three while they compute.
  Outcome run_and_kill(int rank, const std::string& before = "true") {
    return run_until(rank, "256,257,258,259", "sleep 2; kill -KILL $victim", before);
  }

  // Three ranks compute, until something happens to one of them.
  Outcome run_until(int rank, const std::string& tokens, const std::string& what,
                    const std::string& before = "true") {
    return run(before + "; rm -rf results\n" + mpirun(3) +
               "\"$headroom\" sweep --ranks 3 --backend naive --formulation split --heads 12 "
               "--head-dim 64 --tokens " +
               tokens +
               " --threads 1 --out results & mpi=$!\n"
               "for ((i = 0; i < 300; i++)); do\n"
               "  for launched in $(pgrep -P $mpi -x headroom); do\n"
               "    victim=$(pgrep -P $launched -x headroom-r" +
               std::to_string(rank) +
               ") && break 2\n"
               "  done\n"
               "  sleep 0.1\n"
               "done\n" +
               what + "; wait $mpi");
  }

  static std::string sweep(const std::string& options, const std::string& axes = "--tokens 5",
                           const std::string& program = "\"$headroom\"") {
    return program +
           " sweep --formulation split --heads 4 --head-dim 8 --threads 1 "
           "--repetitions 3 --min-time 0.001 --out results " +
           axes + " " + options +
           (options.find("--backend") == std::string::npos ? " --backend xsimd " : " ");
  }
};

TEST_F(RanksCli, VerifiesEveryFormulationOnEveryNumberOfRanks) {
  expect(mpirun(4) +
             "\"$headroom\" verify --ranks 1,2,3,4 --backend naive,tbb --heads 1,5,96 --head-dim 4 "
             "--tokens 1,33 --threads 1",
         0, {"r4t1", "fused/tbb", " passed, 0 failed"});
}

TEST_F(RanksCli, VerifiesItsOwnCases) {
  expect(mpirun(2) + "\"$headroom\" verify --ranks 2 --backend xsimd --formulation split", 0,
         {" passed, 0 failed", "P290", "adversarial", "a norm over the width needs all heads"});
}

TEST_F(RanksCli, SweepsRecordRanksAndTheSum) {
  expect(mpirun(2) + sweep("--ranks 1,2"), 0, {"2 of 2 cells: 2 ok", "ranks"});
  const auto lines = results();
  ASSERT_EQ(lines.size(), 2u);
  std::map<int, json> by_ranks;
  for (const json& line : lines) by_ranks[line["ranks"]] = line;
  EXPECT_EQ(by_ranks.at(2)["id"], "split/xsimd/f32/r2t1/B1_T5_D32_H4");
  EXPECT_GT(by_ranks.at(2)["phases_s"]["sum"], 0);
  EXPECT_FALSE(by_ranks.at(1)["phases_s"].contains("sum"));
  const json environment = json::parse(read_all(path_ / "results" / "environment.json"));
  EXPECT_GT(environment["peaks"]["link"]["bytes_per_s"], 0);
  expect(mpirun(2) + sweep("--ranks 1,2 --resume"), 0, {"2 of 2 cells: 2 ok"});
  EXPECT_EQ(results().size(), 2u);
}

TEST_F(RanksCli, DecodesWithACacheOnEveryRank) {
  expect(mpirun(2) + sweep("--ranks 2 --past 40 --kv-heads 2", "--tokens 1"), 0, {"1 ok"});
}

TEST_F(RanksCli, AutoIsChosenOnce) {
  expect(mpirun(2) + sweep("--ranks 2 --backend auto"), 0, {"1 ok"});
}

TEST_F(RanksCli, TheLinkIsMeasured) {
  expect(mpirun(2) + "\"$headroom\" info --measure --ranks 2", 0,
         {"ranks          2 on 1 machine", "GB/s, from the sums"});
}

// Whichever it is, and however it waits.
TEST_F(RanksCli, AKilledRankIsNamed) {
  for (const int rank : {0, 1, 2}) {
    const Outcome outcome = run_and_kill(rank);
    EXPECT_EQ(outcome.code, 1) << outcome.errors;
    EXPECT_NE(outcome.errors.find("rank " + std::to_string(rank) + ": its process"),
              std::string::npos)
        << outcome.errors;
    EXPECT_NE(outcome.errors.find("SIGKILL"), std::string::npos) << outcome.errors;
  }
}

// Whichever it is; of one, the process that mpirun started is told and not the rank itself.
TEST_F(RanksCli, ARankThatIsToldToStopEndsAllAndFinishedCellsAreKept) {
  for (const auto& [rank, whom] :
       std::map<int, std::string>{{0, "$victim"}, {1, "$victim"}, {2, "$launched"}}) {
    const Outcome outcome =
        run_until(rank, "16-60+1",
                  "for ((i = 0; i < 600; i++)); do [ -s results/results.jsonl ] && break; "
                  "sleep 0.1; done; kill -TERM " +
                      whom);
    EXPECT_EQ(outcome.code, 143) << rank << outcome.errors;
    const std::size_t finished = results().size();
    EXPECT_GE(finished, 1u) << outcome.errors;
    EXPECT_LT(finished, 45u);
    EXPECT_EQ(outcome.errors.find("SIGTERM"), std::string::npos) << outcome.errors;
  }
}

// srun, for one, lets the others wait unless it is told otherwise.
TEST_F(RanksCli, TheOthersNoticeAKilledRankThemselves) {
  const Outcome outcome =
      run_and_kill(1, "export OMPI_MCA_orte_enable_recovery=1 OMPI_MCA_orte_abort_non_zero_exit=0");
  EXPECT_TRUE(std::regex_search(outcome.errors, std::regex("rank 1 .process [0-9]+. has ended")))
      << outcome.errors;
}

TEST_F(RanksCli, OtherProgramsAndOtherArgumentsAreRefused) {
  const Outcome other =
      run("cp \"$headroom\" other && printf x >>other && " + mpirun(1) + sweep("--ranks 2") +
          ": -n 1 " + sweep("--ranks 2", "--tokens 5", "./other"));
  EXPECT_EQ(other.code, 4) << other.errors;
  EXPECT_NE(other.errors.find("rank 1 on "), std::string::npos) << other.errors;
  EXPECT_NE(other.errors.find("another program"), std::string::npos) << other.errors;
  expect(mpirun(1) + sweep("--ranks 2") + ": -n 1 " + sweep("--ranks 1,2"), 2,
         {"rank 1 on ", "other arguments"});
}

TEST_F(RanksCli, AFolderThatCannotBeWrittenEndsAllRanks) {
  expect("touch results; " + mpirun(2) + sweep("--ranks 2"), 4, {"rank 0: ", "results"});
}

TEST_F(RanksCli, WhatWasNotStartedIsRefused) {
  expect(mpirun(2) + sweep("--ranks 4"), 2, {"4 ranks, but 2 processes were started"});
  expect(mpirun(2) + sweep(""), 2, {"2 processes were started", "--ranks 2"});
  expect(sweep("--ranks 2"), 2, {"mpirun -n 2"});
  expect(mpirun(2) + sweep("--ranks 2 --cache cold"), 2, {"--cache cold"});
  expect(mpirun(2) + sweep("--ranks 2 --processes 3"), 2, {"--processes"});
}

TEST_F(RanksCli, ARankThatIsBoundToFewerCoresThanThreadsIsRefused) {
  if (run("'" HEADROOM_MPIEXEC "' --version").output.find("Open") == std::string::npos) {
    GTEST_SKIP() << "other launchers than Open MPI's bind in other ways";
  }
  if (run("test $(nproc --all) -ge 2").code != 0) GTEST_SKIP() << "takes two cores";
  expect("binding=core; " + mpirun(1) +
             "\"$headroom\" sweep --ranks 1 --backend tbb --threads 2 --heads 2 --tokens 4 --out r",
         2, {"rank 0, which was bound to 1 core", "--bind-to none"});
}

}  // namespace
}  // namespace headroom::test::ranks_cli_test
