// headroom report, run as a user runs it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "support/cli.hpp"
#include "support/sample_machines.hpp"
#include "support/sample_results.hpp"

namespace headroom::report_test {
namespace {

using test::Outcome;
using test::sample_result;
using test::with_time;
using test::without_time;

class CliReport : public test::Cli {
 protected:
  void SetUp() override {
    test::Cli::SetUp();
    test::write_sample_folder(
        path_ / "results", {with_time(sample_result("naive"), {0.5, 0.25, 1, 0.6, 0.7}),
                            without_time(sample_result("tbb"), record::Status::failed, "wrong")});
  }

  std::string file(const std::string& name) const { return test::read_all(path_ / name); }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
};

TEST_F(CliReport, WritesThePageBesideTheResults) {
  const Outcome outcome = run("$headroom report results");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "results/index.html\n");
  EXPECT_NE(file("results/index.html").find("Link <code>naive</code>."), std::string::npos);
  EXPECT_NE(file("results/report.md").find("# Link `naive`."), std::string::npos);
  EXPECT_EQ(file("results/results.csv").substr(0, 10), "id,status,");
  expect("$headroom report results", 0, {"results/index.html"});  // once more, over its own files
}

TEST_F(CliReport, WritesIntoAFolderOfItsOwn) {
  expect("$headroom report results --out some/where/new", 0, {"some/where/new/index.html"});
  EXPECT_TRUE(has("some/where/new/report.md"));
  EXPECT_FALSE(has("results/index.html"));
}

TEST_F(CliReport, TheSvgIsDrawnWhereNodeIs) {
  if (std::system("node --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no node on PATH";
  const Outcome outcome = run("$headroom report results");
  if (outcome.errors.find("ECharts was not installed") != std::string::npos) {
    GTEST_SKIP() << "built without ECharts";
  }
  EXPECT_EQ(outcome.errors, "");
  EXPECT_NE(file("results/report.md").find("![Where the time goes](pictures/phases.svg)"),
            std::string::npos);
  EXPECT_EQ(file("results/pictures/phases.svg").substr(0, 4), "<svg");
}

TEST_F(CliReport, WithoutNodeTheTablesAreThereAndTheReason) {
  const Outcome outcome = run("PATH=/nowhere $headroom report results");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.errors.find("warning: report.md has no pictures: "), std::string::npos);
  EXPECT_NE(file("results/report.md").find("There are none: "), std::string::npos);
  EXPECT_NE(file("results/report.md").find("## Every shape"), std::string::npos);
}

TEST_F(CliReport, ANodeThatFailsCostsThePicturesAlone) {
  write("bin/node", "#!/bin/sh\nexit 3\n");
  const Outcome outcome = run("chmod +x bin/node; PATH=$PWD/bin:$PATH $headroom report results");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.errors.find("report.md has no pictures"), std::string::npos);
  EXPECT_TRUE(has("results/index.html"));
}

TEST_F(CliReport, OnlyFailedCells) {
  write("results/results.jsonl",
        test::lines_of({without_time(sample_result("tbb"), record::Status::failed, "wrong")}));
  expect("$headroom report results", 0, {"index.html"});
  EXPECT_NE(file("results/index.html").find("nothing can be recommended"), std::string::npos);
  EXPECT_NE(file("results/index.html").find("wrong"), std::string::npos);
}

TEST_F(CliReport, ATornLineIsDroppedWithANote) {
  write("results/results.jsonl", file("results/results.jsonl") + "{\"schema\": \"headr");
  expect("$headroom report results", 0, {"note: ", "torn"});
  EXPECT_NE(file("results/index.html").find("the last line is torn"), std::string::npos);
}

TEST_F(CliReport, MixedMachinesAreRefused) {
  auto mixed = with_time(sample_result("xsimd"), {0.5, 0.25, 1, 0.6, 0.7});
  mixed.control = record::Control{"avx512", 1, std::vector<double>(5, 100)};
  write("results/results.jsonl", test::lines_of({mixed}));
  expect("$headroom report results", 3, {"avx512", "avx2", "in a separate folder"});
  EXPECT_FALSE(has("results/index.html"));
}

TEST_F(CliReport, SaysWhatIsWrong) {
  expect("$headroom report", 2, {"DIR"});
  expect("$headroom report missing", 3, {"missing", "headroom sweep"});
  expect("$headroom report results --out results/results.jsonl", 4, {"results.jsonl", "--out"});
  expect("$headroom report results --out results/results.jsonl/x", 4, {"--out"});
  write("other/index.html", "<html>mine</html>");
  expect("$headroom report results --out other", 2,
         {"other/index.html", "not written by headroom"});
  EXPECT_EQ(file("other/index.html"), "<html>mine</html>");
  EXPECT_FALSE(has("other/results.csv"));
}

class CliReportOfMany : public CliReport {
 protected:
  void SetUp() override {
    CliReport::SetUp();
    for (const auto& [name, middle] : {std::pair("alpha", 1e-3), std::pair("beta", 2e-3)}) {
      for (const char* version : {"one", "two"}) {
        test::write_sample_folder(path_ / "store" / name / version,
                                  {test::machine_cell("xsimd", 2, test::around(middle)),
                                   test::machine_cell("tbb", 2, test::around(2 * middle))},
                                  test::environment_of(name, version));
      }
    }
  }
};

TEST_F(CliReportOfMany, AStoreIsOnePage) {
  const Outcome outcome = run("$headroom report store");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(outcome.output.starts_with("Link xsimd on both machines.\n")) << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with("\nheadroom-report/index.html\n")) << outcome.output;
  EXPECT_EQ(file("headroom-report/results.csv").substr(0, 27), "machine,version,id,status,r");
  EXPECT_TRUE(has("headroom-report/pictures") || has("headroom-report/report.md"));
  EXPECT_FALSE(has("store/index.html"));
}

TEST_F(CliReportOfMany, FoldersHaveNamesAndPrices) {
  const Outcome outcome =
      run("$headroom report small=store/alpha/one big=store/beta/one --price small=0.2/h --price "
          "big=0.05/h --out page");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_NE(outcome.output.find("the most for the money"), std::string::npos) << outcome.output;
  EXPECT_NE(file("page/index.html").find("<strong>small</strong>"), std::string::npos);
}

TEST_F(CliReportOfMany, AnEqualsSignInAPathIsNoName) {
  expect("cp -r store/alpha/one a=b; $headroom report a=b store/beta/one", 0, {"alpha-2-cores"});
}

TEST_F(CliReportOfMany, WrongUsageSaysWhatIsAllowed) {
  const std::string two = "$headroom report a=store/alpha/one b=store/beta/one ";
  expect(two + "--price a=0.2", 2, {"--price: found 'a=0.2'", "NAME=0.19/h"});
  expect(two + "--price a=0/h", 2, {"a price is above 0"});
  expect(two + "--price c=1/h", 2, {"no machine is named 'c'"});
  expect(two + "--price a=1/h --price a=2/h", 2, {"'a' has two prices"});
  expect("$headroom report a=store/alpha/one a=store/beta/one", 2, {"'a' names two machines"});
  expect("$headroom report =store/alpha/one store/beta/one", 2, {"no name before the equals"});
  expect("$headroom report store store/alpha/one", 2, {"is named twice"});
  expect("$headroom report results --price a=1/h", 2, {"one folder is compared with no other"});
  expect("$headroom report store nowhere", 3, {"nowhere does not exist"});
}

}  // namespace
}  // namespace headroom::report_test
