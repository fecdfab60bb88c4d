// headroom tune, run as a user runs it.
#include <gtest/gtest.h>

#include <string>

#include "support/cli.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::tune_test {
namespace {

using test::Outcome;

class CliTune : public test::Cli {};

TEST_F(CliTune, WritesAFileThatLayersRead) {
  const Outcome tuned = run("$headroom tune --threads 1 --min-time 0.0001 --output tuning.json");
  ASSERT_EQ(tuned.code, 0) << tuned.errors;
  EXPECT_NE(tuned.output.find("chosen: "), std::string::npos) << tuned.output;
  EXPECT_NE(tuned.output.find("HEADROOM_TUNING=tuning.json"), std::string::npos) << tuned.output;
  EXPECT_EQ(tuning::read_tuning(path_ / "tuning.json").kernels.size(), 1U);
}

TEST_F(CliTune, ABrokenFileIsAnErrorBeforeAnythingIsMeasured) {
  write("tuning.json", "{}");
  const Outcome tuned = run("$headroom tune --output tuning.json");
  EXPECT_EQ(tuned.code, 3);
  EXPECT_EQ(tuned.errors.find("measuring"), std::string::npos) << tuned.errors;
}

}  // namespace
}  // namespace headroom::tune_test
