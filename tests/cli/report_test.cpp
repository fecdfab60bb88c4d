// headroom report, run as a user runs it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/cli.hpp"
#include "support/sample_results.hpp"

namespace headroom {
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
  if (outcome.errors.find("ECharts was not there") != std::string::npos) {
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

}  // namespace
}  // namespace headroom
