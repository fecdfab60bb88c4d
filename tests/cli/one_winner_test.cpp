// Every command that says who wins says the same of the same folder.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/sample_machines.hpp"

namespace headroom::test::one_winner_test {
namespace {

using nlohmann::json;
using record::CellResult;

class OneWinner : public Cli {
 protected:
  // Of `report` of one folder, of the same folder twice, and of `pick`.
  void expect_winner(const std::string& winner, const std::vector<CellResult>& cells) const {
    for (const char* name : {"one", "two"}) {
      write_sample_folder(path_ / name, cells,
                          environment_of(std::string("machine ") + name, "aaaa"));
    }
    const Outcome one = run("$headroom report one");
    ASSERT_EQ(one.code, 0) << one.errors;
    EXPECT_NE(read_all(path_ / "one/report.md").find("ink `" + winner + "`"), std::string::npos)
        << read_all(path_ / "one/report.md").substr(0, 1500);
    const Outcome many = run("$headroom report one=one two=two");
    ASSERT_EQ(many.code, 0) << many.errors;
    EXPECT_NE(many.output.find("Link " + winner), std::string::npos) << many.output;
    const Outcome picked = run("$headroom pick --from one --emit json --output picked.json");
    ASSERT_EQ(picked.code, 0) << picked.errors;
    const json choice = json::parse(read_all(path_ / "picked.json"));
    EXPECT_EQ(choice.at("choice").at("backend"), winner) << choice.dump(1);
  }
};

TEST_F(OneWinner, AmongBackendsThatAreThereToCompareWith) {
  expect_winner("autovec",
                {machine_cell("naive", 2, around(4e-3)), machine_cell("autovec", 2, around(1e-3))});
}

TEST_F(OneWinner, IsTheFastest) {
  expect_winner("tbb",
                {machine_cell("naive", 2, around(4e-3)), machine_cell("xsimd", 2, around(2e-3)),
                 machine_cell("tbb", 2, around(1e-3))});
}

TEST_F(OneWinner, IsTheLighterOneWhereLittleIsLost) {
  expect_winner("xsimd", {machine_cell("xsimd", 2, around(1.002e-3)),
                          machine_cell("onednn", 2, around(1e-3))});
}

// The fastest was not checked, or found to be wrong.
TEST_F(OneWinner, IsVerified) {
  expect_winner("xsimd",
                {not_checked(machine_cell("tbb", 2, around(1e-3))),
                 beyond_limit(machine_cell("onednn", 2, around(1e-3))),
                 machine_cell("naive", 2, around(4e-3)), machine_cell("xsimd", 2, around(2e-3))});
}

}  // namespace
}  // namespace headroom::test::one_winner_test
