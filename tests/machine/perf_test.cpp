// Counters of a made-up processor, and the kernel's own interface with an event that every machine
// has.
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "machine/counters/perf_counters.hpp"
#include "support/made_up_usage.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::machine::perf_test {
namespace {

using enum PerfEvent;
using test::MadeUpPerf;

class PerfReasons : public test::TemporaryFolder {};

PerfCounts counts_of(const PerfCounters& counters) {
  const PerfReadings before = counters.read();
  return counts_between(before, counters.read());
}

TEST(PerfCounters, CountBetweenTwoReadings) {
  MadeUpPerf perf({{instructions, 700}, {cycles, 350}, {cache_misses, 0}});
  {
    const PerfCounters counters(perf);
    EXPECT_EQ(counters.why_not(), "");
    EXPECT_EQ(counters.words(), "instructions, cycles, cache misses");
    EXPECT_EQ(counts_of(counters), (PerfCounts{700, 350, 0}));
    EXPECT_EQ(counts_of(counters), (PerfCounts{700, 350, 0})) << "not since they were opened";
  }
  EXPECT_EQ(perf.opened, (std::vector<std::pair<PerfEvent, int>>{
                             {instructions, -1}, {cycles, 40}, {cache_misses, 40}}))
      << "one group, so that their ratios are those of the same moments";
  EXPECT_EQ(perf.closed, (std::set<int>{40, 41, 42}));
}

TEST(PerfCounters, AreScaledWhereTheyHadACounterPartOfTheTime) {
  MadeUpPerf perf({{instructions, 700}, {cycles, 350}, {cache_misses, 7}}, 0.25);
  EXPECT_EQ(counts_of(PerfCounters(perf)), (PerfCounts{2800, 1400, 28}));
  MadeUpPerf never({{instructions, 0}, {cycles, 0}, {cache_misses, 0}}, 0);
  EXPECT_EQ(counts_of(PerfCounters(never)), PerfCounts{}) << "not 0 of an unknown number";
}

TEST(PerfCounters, DoWithoutAnEventThatTheProcessorLacks) {
  MadeUpPerf perf({{instructions, 700}, {cycles, 350}});
  perf.refuse = {{cache_misses, ENOENT}};
  const PerfCounters counters(perf);
  EXPECT_EQ(counters.why_not(), "");
  EXPECT_EQ(counters.words(), "instructions, cycles; no cache misses: No such file or directory");
  EXPECT_EQ(counts_of(counters), (PerfCounts{700, 350, std::nullopt}));
}

TEST_F(PerfReasons, NameTheSettingAndWhatToDo) {
  const auto why = [&](int error) {
    MadeUpPerf perf({});
    perf.refuse = {{instructions, error}, {cycles, error}, {cache_misses, error}};
    const PerfCounters counters(perf, path_);
    EXPECT_TRUE(perf.closed.empty());
    EXPECT_EQ(counts_of(counters), PerfCounts{});
    return counters.why_not();
  };
  EXPECT_EQ(why(ENOENT), "not available: perf_event_open: No such file or directory");
  EXPECT_NE(why(EACCES).find("Permission denied; a container may forbid it"), std::string::npos);
  EXPECT_NE(why(ENOSYS).find("this kernel was built without it"), std::string::npos);
  EXPECT_NE(why(EMFILE).find("ulimit -n"), std::string::npos);
  write("proc/sys/kernel/perf_event_paranoid", "4\n");
  EXPECT_NE(why(EACCES).find("perf_event_paranoid is 4 (allow it: sudo sysctl "
                             "kernel.perf_event_paranoid=2)"),
            std::string::npos)
      << why(EACCES);
  write("proc/sys/kernel/perf_event_paranoid", "2\n");
  EXPECT_NE(why(EPERM).find("perf_event_paranoid is 2, which allows it, so a container"),
            std::string::npos)
      << why(EPERM);
  write("proc/cpuinfo", "flags : fpu hypervisor\n");
  EXPECT_NE(why(ENOENT).find("; this is a virtual machine"), std::string::npos);
}

// Keeps a core busy.
void work() {
  volatile double sum = 0;
  for (int i = 0; i < 3'000'000; ++i) sum = sum + i;
}

TEST(SystemPerf, CountsThreadsThatAreStartedLater) {
  PerfKernel& perf = system_perf();
  const int file = perf.open(task_clock, -1);
  if (file < 0) GTEST_SKIP() << why_no_perf(-file, "/");
  const std::optional<PerfReading> before = perf.read(file);
  work();
  const std::optional<PerfReading> alone = perf.read(file);
  std::jthread thread(work);
  thread.join();
  const std::optional<PerfReading> after = perf.read(file);
  perf.close(file);
  ASSERT_TRUE(before && alone && after);
  const std::uint64_t own = alone->value - before->value;
  EXPECT_GT(own, 0u);
  EXPECT_GT(after->value - alone->value, own / 10) << "this thread only waited meanwhile";
  EXPECT_GE(after->running, alone->running);
}

TEST(SystemPerf, RefusesWithAnErrorAndReadsNothingThatIsNotOpen) {
  EXPECT_EQ(system_perf().open(task_clock, 1 << 20), -EBADF) << "no such group";
  EXPECT_FALSE(system_perf().read(-1));
}

}  // namespace
}  // namespace headroom::machine::perf_test
