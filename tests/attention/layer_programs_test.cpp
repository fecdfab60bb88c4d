// Random programs of calls on every backend, formulation and instruction set, against the oracle.
#include <gtest/gtest.h>

#include "support/call_programs.hpp"
#include "support/layer_cases.hpp"
#include "support/sanitized.hpp"

namespace headroom::test::layer_programs_test {
namespace {

constexpr int kPrograms = kSanitized ? 50 : 500;
constexpr int kOfOneTest = 10;

class LayerPrograms : public testing::TestWithParam<int> {};

TEST_P(LayerPrograms, AreWhatTheOracleComputesFromScratch) {
  int ran = 0;
  for (int i = 0; i < kOfOneTest; ++i) {
    const CallProgram program =
        random_program(static_cast<std::uint64_t>(GetParam() * kOfOneTest + i));
    CallTruth truth;
    for (const LayerCase& who : layer_cases()) {
      if (!who.skip_reason.empty()) continue;
      const std::string fault =
          run_program(program, who.options(i % 3 + 1), who.same_bits_everywhere(), truth);
      EXPECT_EQ(fault, "") << who << ", " << program.text();
      ++ran;
    }
  }
  EXPECT_GE(ran, kOfOneTest);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LayerPrograms, testing::Range(0, kPrograms / kOfOneTest));

}  // namespace
}  // namespace headroom::test::layer_programs_test
