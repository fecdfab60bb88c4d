// The caches of made-up machines, and what has to be read to empty them.
#include "machine/caches.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <string>

#include "machine/processor.hpp"

namespace headroom::machine::caches_test {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kPlenty = std::int64_t{1} << 50;

// Loads what `describe` puts into a topology.
template <class Describe>
Processor loaded(const Describe& describe) {
  hwloc_topology_t topology = nullptr;
  Processor processor;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  EXPECT_EQ(describe(topology), 0);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  add_topology(topology, processor);
  hwloc_topology_destroy(topology);
  return processor;
}

Processor synthetic(const std::string& description) {
  return loaded([&](hwloc_topology_t topology) {
    return hwloc_topology_set_synthetic(topology, description.c_str());
  });
}

std::string object_of_core(const std::string& type, int core, const std::string& attributes,
                           const std::string& inside) {
  const std::string set = std::to_string(1 << core);
  return "<object type=\"" + type + "\" cpuset=\"" + set + "\" complete_cpuset=\"" + set +
         "\" nodeset=\"1\" complete_nodeset=\"1\" " + attributes + ">" + inside + "</object>";
}

std::string core_with_l2(int core, const std::string& bytes) {
  const std::string unit =
      object_of_core("PU", core, "os_index=\"" + std::to_string(core) + "\"", "");
  return object_of_core("L2Cache", core,
                        "cache_size=\"" + bytes + "\" depth=\"2\" cache_type=\"0\"",
                        object_of_core("Core", core, "", unit));
}

// Two cores with an L2 each, of which only the first has an L3 (of 32 MiB), as the small cores of
// some laptops have none.
Processor mixed_cores(const std::string& l2_bytes) {
  const std::string all =
      " cpuset=\"3\" complete_cpuset=\"3\" nodeset=\"1\" complete_nodeset=\"1\"";
  const std::string large =
      object_of_core("L3Cache", 0, "cache_size=\"33554432\" depth=\"3\" cache_type=\"0\"",
                     core_with_l2(0, l2_bytes));
  const std::string text =
      "<topology version=\"2.0\"><object type=\"Machine\"" + all +
      " allowed_cpuset=\"3\" allowed_nodeset=\"1\"><object type=\"NUMANode\" os_index=\"0\"" + all +
      "/>" + large + core_with_l2(1, l2_bytes) + "</object></topology>";
  return loaded([&](hwloc_topology_t topology) {
    return hwloc_topology_set_xmlbuffer(topology, text.c_str(), static_cast<int>(text.size()) + 1);
  });
}

// Two packages with two L3s of 32 MiB each, as servers of chiplets have them.
Processor four_last_levels() {
  return synthetic("pack:2 l3:2(size=33554432) l2:4(size=1048576) l1d:1(size=32768) core:1 pu:2");
}

TEST(Caches, OfTheLastLevelCountTogether) {
  const Processor processor = four_last_levels();
  EXPECT_EQ(processor.last_level_bytes(), 32 * kMiB);
  EXPECT_EQ(processor.last_level_total_bytes, 128 * kMiB);
  EXPECT_EQ(processor.all_caches_bytes(), (128 + 16) * kMiB + kMiB / 2);
  EXPECT_EQ(processor.packages, 2);
  EXPECT_EQ(processor.cores, 16);
  EXPECT_EQ(processor.hardware_threads, 32);
  ASSERT_EQ(processor.caches.size(), 3u);
  EXPECT_EQ(processor.caches[1].name, "L2");
  EXPECT_EQ(processor.caches[1].count, 16);
  EXPECT_EQ(processor.caches[1].total_bytes, 16 * kMiB);
}

TEST(Caches, WithoutAnL3TheL2sAreLast) {
  EXPECT_EQ(synthetic("pack:1 l2:4(size=2097152) core:1 pu:1").last_level_total_bytes, 8 * kMiB);
}

TEST(Caches, OfACoreWithoutAnL3CountToo) {
  const Processor processor = mixed_cores("2097152");
  EXPECT_EQ(processor.last_level_bytes(), 32 * kMiB);
  EXPECT_EQ(processor.last_level_total_bytes, 34 * kMiB);
  EXPECT_EQ(processor.all_caches_bytes(), 36 * kMiB);
}

TEST(Caches, WithOneOfUnknownSizeHaveNoTotal) {
  EXPECT_EQ(mixed_cores("0").last_level_total_bytes, 0);
}

TEST(Caches, ThatCannotBeSeenAreUnknown) {
  const Processor processor = synthetic("pack:1 core:4 pu:1");
  EXPECT_EQ(processor.last_level_total_bytes, 0);
  const UncachedBuffer buffer = uncached_buffer(processor, kPlenty);
  EXPECT_EQ(buffer.bytes, 0);
  EXPECT_NE(buffer.refusal.find("does not report"), std::string::npos) << buffer.refusal;
}

TEST(UncachedBuffer, IsLargerThanAllCachesTogether) {
  const UncachedBuffer buffer = uncached_buffer(four_last_levels(), kPlenty);
  EXPECT_EQ(buffer.bytes, 512 * kMiB);
  EXPECT_EQ(buffer.refusal, "");
}

TEST(UncachedBuffer, OfSmallCachesIsLongEnoughToBeTimed) {
  const Processor small = synthetic("pack:1 l2:2(size=1048576) core:1 pu:1");
  EXPECT_EQ(uncached_buffer(small, kPlenty).bytes, 256 * kMiB);
}

TEST(UncachedBuffer, TakesWhatMemoryThereIsIfThatIsEnough) {
  EXPECT_EQ(uncached_buffer(four_last_levels(), 300 * kMiB).bytes, 300 * kMiB);
}

// One cache of it would fit, all of them do not.
TEST(UncachedBuffer, IsRefusedWithTheReasonWhereMemoryIsShort) {
  const UncachedBuffer buffer = uncached_buffer(four_last_levels(), 130 * kMiB);
  EXPECT_EQ(buffer.bytes, 0);
  EXPECT_NE(buffer.refusal.find("144 MiB in total"), std::string::npos) << buffer.refusal;
  EXPECT_NE(buffer.refusal.find("buffer of 130 MiB"), std::string::npos) << buffer.refusal;
}

TEST(Caches, OfThisMachineAreNoSmallerTogetherThanOne) {
  const Processor here = describe_processor();
  if (here.last_level_total_bytes == 0) GTEST_SKIP() << "the caches of this machine are unknown";
  EXPECT_GE(here.last_level_total_bytes, here.last_level_bytes());
  EXPECT_GE(here.all_caches_bytes(), here.last_level_total_bytes);
}

}  // namespace
}  // namespace headroom::machine::caches_test
