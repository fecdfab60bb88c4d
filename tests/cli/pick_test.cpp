// headroom pick, run as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/cli.hpp"
#include "support/sample_results.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::pick_test {
namespace {

using test::Outcome;
using test::sample_result;
using test::with_time;
using test::without_time;

class CliPick : public test::Cli {
 protected:
  void SetUp() override {
    test::Cli::SetUp();
    auto environment = test::sample_environment();
    environment["processor"] = {{"name", tuning::this_machine().processor},
                                {"architecture", tuning::this_machine().architecture}};
    test::write_sample_folder(
        path_ / "results",
        {with_time(sample_result("naive"), {5, 5.1, 5.2, 5.3, 5.4}),
         with_time(sample_result("tbb", Formulation::fused), {1, 1.1, 1.2, 1.1, 1}),
         without_time(sample_result("onednn"), record::Status::failed, "wrong")},
        environment);
  }

  // A project that includes what pick wrote, with a package that only has targets.
  void write_project(const std::string& backend) const {
    write("package/headroomConfig.cmake",
          "add_library(headroom::" + backend + " INTERFACE IMPORTED)\n");
    write("project/CMakeLists.txt",
          "cmake_minimum_required(VERSION 3.25)\n"
          "project(user LANGUAGES NONE)\n"
          "include(${CMAKE_SOURCE_DIR}/../picked.cmake)\n"
          "include(${CMAKE_SOURCE_DIR}/../picked.cmake)  # twice must be harmless\n"
          "get_target_property(links headroom::pick INTERFACE_LINK_LIBRARIES)\n"
          "get_target_property(defines headroom::pick INTERFACE_COMPILE_DEFINITIONS)\n"
          "message(STATUS \"links ${links} defines ${defines}\")\n"
          "message(STATUS \"is ${HEADROOM_PICK_BACKEND} ${HEADROOM_PICK_FORMULATION} "
          "${HEADROOM_PICK_THREADS}\")\n");
  }
};

// The report is made of the same results by the same rule.
TEST_F(CliPick, RecommendsWhatTheReportRecommends) {
  const std::string no_answer = "measure longer, or on a quieter machine";
  const auto results = [&](const std::string& name, const std::vector<double>& xsimd) {
    std::vector<double> lighter;
    for (const double each : xsimd) lighter.push_back(1e-3 * each);
    test::write_sample_folder(path_ / name, {with_time(sample_result("tbb"), test::around(1e-3)),
                                             with_time(sample_result("xsimd"), lighter)});
  };
  results("wide", {0.94, 0.95, 0.97, 0.99, 1.9, 1.93, 1.95, 1.97, 1.98});
  expect("$headroom pick --from wide", 0,
         {"no answer yet: " + no_answer, "of split/tbb", "until then use split/xsimd"});
  expect("$headroom report wide && cat wide/report.md", 0,
         {"# No answer yet: " + no_answer, "use `xsimd/split`"});
  results("near", {1.01, 1.011, 1.012, 1.009, 1.008, 1.01, 1.011, 1.009, 1.01});
  expect("$headroom pick --from near", 0,
         {"use split/xsimd", "more time than tbb and has fewer dependencies"});
  expect("$headroom report near && cat near/report.md", 0,
         {"Link `xsimd`.", "`xsimd` has fewer dependencies."});
  test::write_sample_folder(
      path_ / "loops",
      {with_time(sample_result("naive"), test::around(1.3e-3, 0.1)),
       with_time(sample_result("autovec"), test::around(1.1e-3, 0.1)),
       with_time(sample_result("autovec", Formulation::wrapper), test::around(1e-3, 0.1))});
  expect("$headroom pick --from loops", 0, {"of wrapper/autovec", "until then use split/autovec"});
  expect("$headroom report loops && cat loops/report.md", 0,
         {"# No answer yet: ", "use `autovec/split`"});
}

TEST_F(CliPick, FailsOnRequestWhereThereIsNoAnswer) {
  test::write_sample_folder(path_ / "even",
                            {with_time(sample_result("tbb"), test::around(1e-3, 0.1)),
                             with_time(sample_result("xsimd"), test::around(1.01e-3, 0.1))});
  expect("$headroom pick --from even --emit json", 0, {"\"answer\": \"unclear\""});
  expect("$headroom pick --from even --emit json --fail-if-unclear", 1,
         {"\"answer\": \"unclear\"", "error: no answer yet: measure longer"});
  expect("$headroom pick --from results --fail-if-unclear", 0, {"use fused/tbb"});
}

TEST_F(CliPick, AnswersFromAFolder) {
  const Outcome outcome = run("$headroom pick --from results");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.output.substr(0, 17), "use fused/tbb, 1 ") << outcome.output;
  EXPECT_NE(outcome.output.find("failed: wrong"), std::string::npos);
  expect("$headroom pick --from results --without tbb", 0, {"use split/naive"});
  expect("$headroom pick --from results --tokens 4 --d-model 8 --heads 2", 0, {"use fused/tbb"});
}

TEST_F(CliPick, WritesAFileForTheBackendAuto) {
  ASSERT_EQ(run("$headroom pick --from results --emit json --output tuning.json").code, 0);
  const tuning::TuningFile file = tuning::read_tuning(path_ / "tuning.json");
  ASSERT_EQ(file.shapes.size(), 1U);
  EXPECT_EQ(file.shapes[0].candidates.size(), 2U);
  EXPECT_EQ(stale_reason(file), "");
  expect("HEADROOM_TUNING=tuning.json $headroom info", 0, {"uses tuning.json, shapes: 1"});
  expect("HEADROOM_TUNING=nowhere $headroom info", 0, {"uses its rule", "nowhere"});
}

TEST_F(CliPick, WritesAFileThatAProjectIncludes) {
  ASSERT_EQ(run("$headroom pick --from results --emit cmake > picked.cmake").code, 0);
  write_project("tbb");
  const Outcome outcome =
      run("cmake -S project -B built -DCMAKE_PREFIX_PATH= -Dheadroom_DIR=$PWD/package");
  EXPECT_EQ(outcome.code, 0) << outcome.output << outcome.errors;
  for (const char* part :
       {"links headroom::tbb", "HEADROOM_PICK_BACKEND=\"tbb\"",
        "HEADROOM_PICK_FORMULATION=headroom::Formulation::fused", "is tbb fused 1"}) {
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  }
}

TEST_F(CliPick, WarnsOfAnotherMachinesResults) {
  write("results/environment.json", test::sample_environment().dump());
  expect("$headroom pick --from results", 0, {"warning", "'Processor'", "use fused/tbb"});
}

TEST_F(CliPick, SaysWhatIsWrong) {
  expect("$headroom pick", 2, {"a shape", "--from"});
  expect("$headroom pick --from results --emit jsno", 2, {"'jsno'", "'json'"});
  expect("$headroom pick --from results --without tbbb", 2, {"'tbbb'", "'tbb'"});
  expect("$headroom pick --from results --without naive,tbb,onednn", 2, {"--without 3"});
  expect("$headroom pick --from results --backend naive,tbb --max-packed-bytes 1", 2,
         {"--max-packed-bytes 2", "--backend 1"});
  expect("$headroom pick --from results --max-packed-bytes none", 2, {"--max-packed-bytes"});
  expect("$headroom pick --from results --tokens 5 --d-model 8 --heads 2", 2,
         {"B1_T5_D8_H2", "nearest is: B1_T4_D8_H2"});
  expect("$headroom pick --from results --backend onednn", 1, {"failed", "wrong", "--backend 2"});
  expect("$headroom pick --from nowhere", 3, {"nowhere"});
  expect("$headroom pick --from results --output no/such/file", 4, {"no/such/file"});
  expect(
      "$headroom pick --tokens 4 --d-model 8 --heads 2 --without "
      "naive,autovec,xsimd,onednn,tbb",
      2, {"--without"});
  expect("$headroom pick --tokens 0 --d-model 8 --heads 2", 2, {"B1_T0_D8_H2", "nothing"});
  expect("$headroom pick --tokens 4 --d-model 8 --heads 2 --budget soon", 2, {"--budget"});
  // Said before anything is measured.
  expect("$headroom pick --model gpt2-xl --tokens 1024 --budget 0.1s", 4,
         {"a budget of", "has no room for any candidate of B1_T1024", "give --budget "});
}

TEST_F(CliPick, MeasuresWhatItHasNoResultsOf) {
  const Outcome outcome =
      run("TMPDIR=$PWD $headroom pick --tokens 4 --d-model 16 --heads 2 --backend naive,xsimd "
          "--formulation split --precision f32 --budget 20s --emit json");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  write("tuning.json", outcome.output);
  const tuning::TuningFile file = tuning::read_tuning(path_ / "tuning.json");
  ASSERT_EQ(file.shapes.size(), 1U);
  EXPECT_EQ(file.shapes[0].candidates.size(), 2U);
  EXPECT_EQ(file.shapes[0].shape.id(), "B1_T4_D16_H2");
  EXPECT_EQ(stale_reason(file), "");
  EXPECT_TRUE(run("ls -d headroom-pick-*").output.empty()) << "the scratch folder is still there";
}

TEST_F(CliPick, SweepsAutoAsOneMoreRival) {
  const std::string sweep =
      "$headroom sweep --tokens 4 --d-model 16 --heads 2 --threads 1 --repetitions 1 "
      "--min-time 0.001 --backend naive,auto ";
  expect(sweep + "--out by-rule", 0, {"4 ok"});
  const auto lines = results("by-rule");
  const auto chosen = std::find_if(lines.begin(), lines.end(),
                                   [](const auto& line) { return line["backend"] == "auto"; });
  ASSERT_NE(chosen, lines.end());
  EXPECT_EQ((*chosen)["id"], "fused/auto/f32/t1/B1_T4_D16_H2");
  EXPECT_EQ((*chosen)["choice"]["backend"], "xsimd");
  EXPECT_EQ((*chosen)["choice"]["source"], "rule");
  // The cell of auto is not a candidate.
  expect("$headroom pick --from by-rule", 0, {"/naive, 1 thread"});
  expect("$headroom pick --from by-rule --emit json --output tuning.json", 0, {});
  expect("HEADROOM_TUNING=tuning.json " + sweep + "--formulation split --out by-file", 0, {"2 ok"});
  for (const auto& line : results("by-file")) {
    EXPECT_EQ(line["formulation"], "split");
    if (line["backend"] != "auto") continue;
    EXPECT_EQ(line["choice"]["backend"], "naive");
    EXPECT_EQ(line["choice"]["source"], "tuning file");
  }
  expect("HEADROOM_TUNING=nowhere " + sweep + "--dry-run", 0, {"warning", "nowhere"});
  expect("$headroom verify --backend auto", 2, {"auto"});
  expect("$headroom pick --tokens 4 --d-model 16 --heads 2 --backend auto", 2, {"auto"});
}

TEST_F(CliPick, AWrongBackendIsNeverPicked) {
  expect("$broken pick --tokens 4 --d-model 16 --heads 2 --backend naive --budget 20s", 1,
         {"failed", "wrong result"});
}

}  // namespace
}  // namespace headroom::pick_test
