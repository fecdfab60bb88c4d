// headroom export, run as a user runs it.
#include <gtest/gtest.h>

#include <string>

#include "support/cli.hpp"
#include "support/sample_results.hpp"

namespace headroom::export_test {
namespace {

using test::Outcome;
using test::sample_result;
using test::with_time;
using test::without_time;

class CliExport : public test::Cli {
 protected:
  void SetUp() override {
    test::Cli::SetUp();
    test::write_sample_folder(
        path_ / "results", {with_time(sample_result("naive"), {0.5, 0.25, 1}),
                            without_time(sample_result("tbb"), record::Status::failed, "wrong")});
  }
};

TEST_F(CliExport, PrintsEachFormat) {
  for (const char* format : {"gbench", "bmf"}) {
    const Outcome outcome = run(std::string("$headroom export results --to ") + format);
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_TRUE(nlohmann::json::accept(outcome.output)) << outcome.output;
    EXPECT_NE(outcome.errors.find("1 of 2 cells have no time"), std::string::npos);
  }
  const Outcome csv = run("$headroom export results --to csv");
  EXPECT_EQ(csv.code, 0);
  EXPECT_EQ(csv.output.substr(0, 10), "id,status,");
  EXPECT_NE(csv.output.find("failed,wrong"), std::string::npos);
  EXPECT_EQ(csv.errors, "");
}

TEST_F(CliExport, WritesAFile) {
  write("out.json", std::string(100'000, 'x'));
  const Outcome outcome = run("$headroom export results --to bmf --output out.json");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "");
  EXPECT_TRUE(nlohmann::json::accept(test::read_all(path_ / "out.json")));
}

TEST_F(CliExport, SaysWhatIsWrong) {
  expect("$headroom export results", 2, {"--to"});
  expect("$headroom export --to csv", 2, {"DIR"});
  expect("$headroom export results --to gbenhc", 2, {"'gbenhc'", "'gbench'", "csv, bmf"});
  expect("$headroom export missing --to csv", 3, {"missing"});
  expect("$headroom export results --to csv --output no/such/file", 4, {"no/such/file"});
  expect("$headroom export results --to csv --output results", 4, {"results"});
  if (std::filesystem::exists("/dev/full")) {
    expect("$headroom export results --to csv --output /dev/full", 4, {"No space left"});
  }
}

}  // namespace
}  // namespace headroom::export_test
