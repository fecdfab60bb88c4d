#include "across/collection.hpp"

#include <gtest/gtest.h>

#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "support/sample_machines.hpp"

namespace headroom::across::collection_test {
namespace {

using test::around;
using test::environment_of;
using test::machine_cell;

class Collected : public test::Machines {
 protected:
  std::filesystem::path plain(const std::string& name, const std::string& processor,
                              const std::string& revision = "aaaaaaaaaaaa",
                              const std::string& time = "2026-01-31T12:00:00Z") const {
    return folder(name, {machine_cell("xsimd", 2, around(1e-3))},
                  environment_of(processor, revision, time));
  }
};

TEST_F(Collected, TellsMachinesApartAndPutsTheOldestVersionFirst) {
  const auto newer = plain("newer", "Alpha", "bbbbbbbbbbbb", "2026-03-01T00:00:00Z");
  const auto older = plain("older", "Alpha", "aaaaaaaaaaaa", "2026-02-01T00:00:00Z");
  const auto other = plain("other", "Beta");
  const Collection found = gather({{"", newer}, {"", other}, {"", older}});
  ASSERT_EQ(found.machines.size(), 2U);
  EXPECT_TRUE(found.machines[0].name.starts_with("alpha-2-cores-")) << found.machines[0].name;
  ASSERT_EQ(found.machines[0].entries, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(found.entries[0].version, "0.1.0-aaaaaaaaaaaa");
  EXPECT_EQ(found.entries[1].version, "0.1.0-bbbbbbbbbbbb");
  EXPECT_EQ(found.entries[1].label, found.machines[0].name + " 0.1.0-bbbbbbbbbbbb");
  EXPECT_EQ(found.entries[2].label, found.machines[1].name);
}

TEST_F(Collected, ReadsAStoreAndGivesAMachineAnotherName) {
  plain("store/alpha/one", "Alpha");
  plain("store/beta/one", "Beta");
  EXPECT_EQ(gather({{"", path_ / "store"}}).machines.size(), 2U);
  const Collection named = gather({{"small", path_ / "store/alpha/one"}, {"", plain("b", "Beta")}});
  EXPECT_EQ(named.machines[0].name, "small");
  EXPECT_THROW(gather({{"small", path_ / "store"}}), InvalidArgument);
}

TEST_F(Collected, TwoMachinesOfOneProcessorAreToldApartByTheirNames) {
  const auto first = plain("first", "Alpha"), second = plain("second", "Alpha");
  EXPECT_EQ(gather({{"", first}, {"", second}}).machines.size(), 1U);
  EXPECT_EQ(gather({{"first", first}, {"second", second}}).machines.size(), 2U);
}

TEST_F(Collected, RefusesAFolderThatIsNamedTwice) {
  const auto only = plain("only", "Alpha");
  EXPECT_THROW(gather({{"a", only}, {"b", path_ / "only/../only"}}), InvalidArgument);
}

TEST_F(Collected, APriceIsThatOfAMachineThatIsThere) {
  const auto first = plain("first", "Alpha");
  const std::vector<Source> sources{{"small", first}};
  EXPECT_EQ(gather(sources, {{"small", 0.25}}).machines[0].price, 0.25);
  EXPECT_THROW(gather(sources, {{"smal", 0.25}}), InvalidArgument);
  EXPECT_THROW(gather(sources, {{"small", 0.25}, {"small", 0.5}}), InvalidArgument);
}

}  // namespace
}  // namespace headroom::across::collection_test
