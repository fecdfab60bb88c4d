// Cores and memory that made-up machines allow: masks of any size, quotas of nested control groups.
#include "processor/cores.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>

#include "machine/memory.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::machine::cores_test {
namespace {

// A system that may have `places` processors, of which this process may use every second one.
processor::AffinityCall every_second_of(std::size_t places, int& calls) {
  return [places, &calls](std::size_t bytes, cpu_set_t* set) {
    ++calls;
    if (8 * bytes < places) {
      errno = EINVAL;
      return -1;
    }
    for (std::size_t i = 0; i < places; i += 2) CPU_SET_S(i, bytes, set);
    return 0;
  };
}

TEST(Affinity, CountsAnyNumberOfProcessors) {
  int calls = 0;
  EXPECT_EQ(processor::affinity_cores(every_second_of(8, calls)), 4);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(processor::affinity_cores(every_second_of(1024, calls)), 512);
  EXPECT_EQ(processor::affinity_cores(every_second_of(1026, calls)), 513);
  EXPECT_EQ(processor::affinity_cores(every_second_of(100000, calls)), 50000);
}

TEST(Affinity, EndsWhereTheSystemDoesNotTell) {
  const auto refuse_with = [](int error) {
    return processor::affinity_cores([error](std::size_t, cpu_set_t*) {
      errno = error;
      return -1;
    });
  };
  EXPECT_EQ(refuse_with(ENOSYS), 0);
  EXPECT_EQ(refuse_with(EINVAL), 0);
}

class Quotas : public test::TemporaryFolder {};

TEST_F(Quotas, WithoutGroupsThereIsNone) {
  EXPECT_EQ(processor::quota_cores(path_), 0);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(processor::quota_cores(path_), 0);
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 0);
}

TEST_F(Quotas, TheSmallestOfNestedGroupsBinds) {
  write("proc/self/cgroup", "0::/outer/middle/inner\n");
  write("sys/fs/cgroup/outer/middle/inner/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/outer/middle/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/outer/cpu.max", "800000 100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 1.5);
  write("sys/fs/cgroup/outer/cpu.max", "50000 50000\n");
  EXPECT_EQ(processor::quota_cores(path_), 1);
  write("sys/fs/cgroup/outer/middle/inner/cpu.max", "25000 100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 0.25);
}

TEST_F(Quotas, OfAContainerThatSeesItsGroupAsTheRoot) {
  write("proc/self/cgroup", "0::/docker/abc\n");
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 3);
}

TEST_F(Quotas, OfVersion1AreNestedToo) {
  write("proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/outer/inner\n3:cpuset:/\n");
  write("sys/fs/cgroup/cpu,cpuacct/outer/inner/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/outer/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 0);
  write("sys/fs/cgroup/cpu,cpuacct/outer/cpu.cfs_quota_us", "250000\n");
  write("sys/fs/cgroup/cpu,cpuacct/outer/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 2.5);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 0.5);
}

TEST_F(Quotas, OfGroupsThatAreNotAboveThisProcessDoNotCount) {
  write("proc/self/cgroup", "0::/../sibling\n");
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  write("sys/fs/sibling/cpu.max", "200000 100000\n");
  EXPECT_EQ(processor::quota_cores(path_), 0);
}

TEST_F(Quotas, OfMemoryAreTheSmallestToo) {
  write("proc/meminfo", "MemAvailable: 1000 kB\n");
  write("proc/self/cgroup", "4:cpu,memory:/outer/inner\n0::/\n");
  write("sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "900000\n");
  write("sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "400000\n");
  write("sys/fs/cgroup/memory/outer/memory.usage_in_bytes", "150000\n");
  EXPECT_EQ(memory_limit(path_).bytes, 250000);
  EXPECT_EQ(memory_limit(path_).source, "control group (v1)");
}

TEST(AllowedCores, AreAtLeastOne) { EXPECT_GE(allowed_cores(), 1); }

}  // namespace
}  // namespace headroom::machine::cores_test
