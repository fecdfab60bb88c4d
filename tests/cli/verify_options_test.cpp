// `headroom verify` accepts every correct result: all combinations of options with every backend.
// Formulations and instruction sets alternate, to keep it short.
#include <algorithm>

#include "headroom/headroom.hpp"
#include "support/cli.hpp"

namespace headroom::test::verify_options_test {
namespace {

std::vector<std::string> combinations() {
  std::vector<std::string> all;
  for (const char* mask : {"", " --no-causal"}) {
    for (const char* bias : {"", " --qkv-bias"}) {
      for (const char* projection : {"", " --no-out-proj"}) {
        for (const char* dropout : {"", " --dropout 0.1", " --dropout 0.5"}) {
          all.push_back(std::string(mask) + bias + projection + dropout);
        }
      }
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = "verify" + info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class CliVerifyOptions : public Cli, public testing::WithParamInterface<std::string> {};

TEST_P(CliVerifyOptions, PassesEveryBackend) {
  const std::vector<std::string> all = combinations();
  const auto turn =
      static_cast<std::size_t>(std::find(all.begin(), all.end(), GetParam()) - all.begin());
  const std::vector<Isa> isas = available_isas();
  static constexpr const char* kFormulations[] = {"wrapper", "split", "fused"};
  // 24 combinations in steps of 3: the number of formulations would always meet the same dropout.
  const std::string line = "$headroom verify --formulation " +
                           std::string(kFormulations[(turn + turn / 3) % 3]) + " --isa " +
                           std::string(to_string(isas[turn / 3 % isas.size()])) + GetParam();
  const Outcome outcome = run(line);
  EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.output << outcome.errors;
  EXPECT_NE(outcome.output.find(" passed, 0 failed"), std::string::npos) << line;
  for (const BackendInfo& backend : backends()) {
    if (!backend.available) continue;
    EXPECT_NE(outcome.output.find("/" + backend.name + "/"), std::string::npos) << backend.name;
  }
}

// Dropout leaves a few rows with large weights and many with none, so that one row's rounding is
// large beside the mean of all: docs/numerics.md holds it to the element bound.
TEST_F(Cli, VerifyHoldsDropoutToTheElementBound) {
  expect("$headroom verify --dropout 0.999 --seed 3 --formulation split", 0,
         {" 0 failed", "worst element"});
}

INSTANTIATE_TEST_SUITE_P(Options, CliVerifyOptions, testing::ValuesIn(combinations()), name_of);

}  // namespace
}  // namespace headroom::test::verify_options_test
