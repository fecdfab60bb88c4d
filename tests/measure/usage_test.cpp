// Energy and counters from a made-up machine to a record: through a round of samples, through the
// processes that share a cell, and through a sweep with its folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measure/group/cell_result.hpp"
#include "measure/group/group_measurement.hpp"
#include "measure/sweep.hpp"
#include "record/merge.hpp"
#include "record/results_folder.hpp"
#include "support/child.hpp"
#include "support/made_up_usage.hpp"
#include "support/sample_results.hpp"
#include "support/small_request.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::measure::usage_test {
namespace {

namespace fs = std::filesystem;
using enum machine::PerfEvent;
using nlohmann::ordered_json;
using record::CellResult;

constexpr const char* kPackage = "intel-rapl:0";

class UsageOfCells : public test::TemporaryFolder {
 protected:
  machine::UsageSources sources() { return {path_ / "machine", &perf_}; }

  // The lines of a sweep, and what it found out about the machine.
  record::ResultsFolder swept(const std::string& name, SweepRequest request) {
    const fs::path folder = path_ / name;
    const std::string outcome = test::in_child([&] {
      run_sweep(prepare_sweep(request),
                {folder, false, [](const std::string&) {}, [](const std::string&) {}});
      return std::string("done");
    });
    EXPECT_EQ(outcome, "done");
    return record::read_results_folder(folder);
  }

  test::MadeUpPerf perf_{{{instructions, 70'000}, {cycles, 35'000}, {cache_misses, 700}}};
};

SweepRequest request_of(const machine::UsageSources& sources) {
  SweepRequest request = test::small_request(nullptr);
  request.usage = sources;
  request.repetitions = 6;
  request.processes = 2;
  return request;
}

TEST_F(UsageOfCells, IsTakenBesideEverySampleOfARound) {
  const PreparedSweep sweep = prepare_sweep(request_of(sources()));
  Settings settings = sweep.settings;
  EXPECT_TRUE(settings.usage);
  const plan::Group& group = sweep.plan.groups.front();
  const Problem problem = make_problem({group.shape, {}}, 1, reference::Data::standard, 1e9);
  plan::Estimator estimator;
  Part part;
  const MeasureEvents events{[](const std::string&) {}, [&](const Part& done) { part = done; }};
  measure_round({group, problem}, {0, {Assignment{}}}, settings, estimator, events);
  ASSERT_EQ(part.result.status, record::Status::ok) << part.result.reason;
  ASSERT_TRUE(part.result.used);
  const std::vector<double> per_pass(part.result.time.samples.size(),
                                     70'000.0 / static_cast<double>(part.iterations));
  EXPECT_EQ(part.result.used->samples.instructions, per_pass);
  EXPECT_EQ(part.result.used->per_cycle(), 2);
  EXPECT_TRUE(part.result.used->samples.joules.empty()) << "there are no such files";
  settings.usage.reset();
  measure_round({group, problem}, {0, {Assignment{}}}, settings, estimator, events);
  EXPECT_FALSE(part.result.used);
}

CellResult part_of(double seconds, double joules) {
  CellResult part = test::with_time(test::sample_result("naive"), {seconds, seconds});
  part.used = record::Used{};
  part.used->samples.joules = {joules, joules};
  part.used->samples.instructions = {100, 100};
  return part;
}

TEST(JoinedUsage, IsOfAllProcessesAndKnowsItsIdleShare) {
  record::Peaks peaks;
  peaks.idle_watts = 20;
  CellResult whole = join_parts({part_of(1, 100), part_of(1, 60)}, peaks, 1);
  ASSERT_TRUE(whole.used);
  EXPECT_EQ(whole.used->samples.joules, (std::vector<double>{100, 100, 60, 60}));
  EXPECT_DOUBLE_EQ(whole.used->idle_share.value(), 20 * 1 / 80.0);
  EXPECT_EQ(whole.used->joules(), 80) << "with what the idle machine uses";
  whole = join_parts({part_of(1, 100), part_of(1, 60)}, {}, 1);
  EXPECT_FALSE(whole.used->idle_share) << "nobody knows the power of the idle machine";
}

TEST(JoinedUsage, ThatSomeProcessesCouldNotCountIsDropped) {
  CellResult without = part_of(1, 60);
  without.used->samples.joules.clear();
  CellResult whole = join_parts({part_of(1, 100), without}, {}, 1);
  EXPECT_TRUE(whole.used->samples.joules.empty());
  EXPECT_EQ(whole.used->samples.instructions.size(), 4u);
  without.used.reset();
  whole = join_parts({part_of(1, 100), without}, {}, 1);
  EXPECT_FALSE(whole.used);
  whole = join_parts({without, part_of(1, 100)}, {}, 1);
  EXPECT_FALSE(whole.used);
}

TEST_F(UsageOfCells, IsRecordedByASweepWithItsIdlePower) {
  const test::Burning burning(path_ / "machine", kPackage, 100);
  const record::ResultsFolder folder = swept("results", request_of(sources()));
  const ordered_json& now = folder.environment["conditions"];
  EXPECT_EQ(now["energy"], "powercap: package-0");
  EXPECT_EQ(now["counters"], "instructions, cycles, cache misses");
  EXPECT_TRUE(now["throttling"].is_null());
  EXPECT_TRUE(now["unavailable"].contains("throttling"));
  EXPECT_FALSE(now["unavailable"].contains("energy"));
  EXPECT_GT(record::peaks_of(folder.environment).idle_watts.value_or(0), 0);
  ASSERT_EQ(folder.results.size(), 1u);
  const CellResult& cell = folder.results.front();
  ASSERT_TRUE(cell.used);
  EXPECT_EQ(cell.used->samples.joules.size(), cell.time.samples.size());
  EXPECT_EQ(cell.used->samples.instructions.size(), cell.time.samples.size());
  EXPECT_TRUE(cell.used->idle_share);
  const double watts = *cell.used->joules() / cell.time.median;
  EXPECT_TRUE(watts > 1 && watts < 1e4) << watts << ": of a pass, not of a sample";
}

TEST_F(UsageOfCells, GoesWithItsCellThroughMerge) {
  SweepRequest request = request_of(sources());
  request.axes.backend = "naive";
  request.axes.heads = "1,2";
  request.shard = plan::Shard{1, 2};
  swept("one", request);
  request.shard = plan::Shard{2, 2};
  swept("two", request);
  record::merge_folders({path_ / "one", path_ / "two"}, path_ / "all");
  const record::ResultsFolder all = record::read_results_folder(path_ / "all");
  ASSERT_EQ(all.results.size(), 2u);
  for (const CellResult& cell : all.results) EXPECT_TRUE(cell.used) << cell.cell.id;
}

TEST_F(UsageOfCells, IsMissingWithAReason) {
  perf_.refuse = {{instructions, EACCES}, {cycles, EACCES}, {cache_misses, EACCES}};
  write("machine/proc/sys/kernel/perf_event_paranoid", "4\n");
  const record::ResultsFolder folder = swept("results", request_of(sources()));
  EXPECT_FALSE(folder.results.front().used);
  for (const char* key : {"energy_j", "counters", "throttled"}) {
    EXPECT_EQ(folder.lines.front().find(key), std::string::npos) << key;
  }
  const ordered_json& why = folder.environment["conditions"]["unavailable"];
  EXPECT_NE(why["energy"].get<std::string>().find("powercap: No such file"), std::string::npos);
  EXPECT_NE(why["counters"].get<std::string>().find("perf_event_paranoid is 4"), std::string::npos);
  EXPECT_NE(why["throttling"].get<std::string>().find("No such file"), std::string::npos);
  EXPECT_FALSE(record::peaks_of(folder.environment).idle_watts);
}

}  // namespace
}  // namespace headroom::measure::usage_test
