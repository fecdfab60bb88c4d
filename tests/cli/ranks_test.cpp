// Cells of several processes on the command line, where nobody started more than one.
#include "support/cli.hpp"
#include "support/sample_results.hpp"

namespace headroom::test::ranks_test {
namespace {

TEST_F(Cli, MoreRanksThanWereStartedAreRefusedWithTheCommandThatStartsThem) {
  for (const char* program : {"$headroom sweep", "$headroom verify", HEADROOM_BENCH_PROGRAM}) {
    expect(std::string(program) + " --ranks 1,4 --heads 4 --tokens 4", 2,
           {"--ranks: 4 ranks, but 1 process was started",
            "mpirun -n 4 headroom sweep --ranks 1,4 ..."});
  }
  expect("$headroom pick --ranks 2 --tokens 4", 2, {"--ranks: '2' was given, but pick answers"});
  expect("$headroom sweep --ranks 4097", 2, {"--ranks: 4097 is too many; the limit is 4096"});
}

TEST_F(Cli, ADryRunListsCellsOfAnyNumberOfRanks) {
  expect(
      "$headroom sweep --dry-run --ranks 1,4 --heads 4 --tokens 4 --threads 1 --backend naive "
      "--formulation split",
      0, {"split/naive/f32/t1/B1_T4_D256_H4", "split/naive/f32/r4t1/B1_T4_D256_H4", "2 cells"});
}

TEST_F(Cli, PickSaysThatCellsOfSeveralRanksWereNotJudged) {
  const std::vector<double> samples(9, 1e-3);
  const record::CellResult one = with_time(sample_result("naive"), samples);
  write_sample_folder(path_ / "results", {one, on_ranks(one, 2)});
  expect("$headroom pick --from results", 0, {"1 cell of several ranks was not judged"});
}

}  // namespace
}  // namespace headroom::test::ranks_test
