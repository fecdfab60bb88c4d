// One cell cannot hurt another: backends that end their process, and sweeps that survive them.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/cli.hpp"

namespace headroom::test {
namespace {

using nlohmann::json;

class CliCrash : public Cli {
 protected:
  std::map<std::string, json> by_backend() const {
    std::map<std::string, json> all;
    for (const json& line : results()) all[line["backend"]] = line;
    return all;
  }
};

constexpr const char* kSweep = "'" HEADROOM_FAULTY_PROGRAM
                               "' sweep --formulation split --heads 2 --head-dim 4 --tokens 3 "
                               "--repetitions 3 --min-time 0.001 "
                               "--max-memory 64MiB --out results";

TEST_F(CliCrash, EachCellGetsItsOwnStatusAndTheSweepGoesOn) {
  expect(kSweep, 1, {"1 ok", "1 failed, 3 crashed"});
  const auto cells = by_backend();
  ASSERT_EQ(results().size(), 5u);
  EXPECT_EQ(cells.at("naive")["status"], "ok");
  EXPECT_EQ(cells.at("autovec")["status"], "crashed");
  EXPECT_EQ(cells.at("xsimd")["status"], "crashed");
  EXPECT_EQ(cells.at("onednn")["status"], "failed");
  EXPECT_EQ(cells.at("tbb")["status"], "crashed");
  EXPECT_GT(cells.at("naive")["time_s"]["median"], 0);
  for (const char* name : {"autovec", "xsimd", "tbb"}) {
    EXPECT_FALSE(cells.at(name).contains("time_s")) << name;
    EXPECT_FALSE(cells.at(name)["reason"].get<std::string>().empty()) << name;
  }
}

}  // namespace
}  // namespace headroom::test
