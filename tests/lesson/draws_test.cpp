// PyTorch's draws without PyTorch, against what it prints.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lesson/torch_draws.hpp"
#include "support/json_matrix.hpp"

namespace headroom::lesson::draws_test {
namespace {

// Three matrices of one stream, none a multiple of 16 numbers.
TEST(TorchDraws, NormalIsTorchRandn) {
  const auto golden = test::read_data("attention_examples.json").at("cases");
  TorchDraws draws(0);
  for (const char* name : {"w_query", "w_key", "w_value"}) {
    const auto expected =
        golden.at("stepwise_the_kid_smiles").at(name).at("data").get<std::vector<float>>();
    const Matrix drawn = draws.normal(6, 6);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(drawn.values[i], expected[i], 5e-7) << name << " " << i;
    }
  }
}

// nn.Dropout(0.5) of ones after manual_seed(123), as textbooks print it.
TEST(TorchDraws, DropoutIsTheTextbooks) {
  const std::string expected =
      "220220"
      "000202"
      "222202"
      "022002"
      "020202"
      "022220";
  std::string drawn;
  for (const float factor : TorchDraws(123).dropout_factors(36, 0.5)) {
    drawn += factor == 0 ? '0' : factor == 2 ? '2' : '?';
  }
  EXPECT_EQ(drawn, expected);
}

TEST(TorchDraws, KeptValuesAreScaled) {
  for (const float factor : TorchDraws(1).dropout_factors(1000, 0.2)) {
    EXPECT_TRUE(factor == 0 || factor == 1.25F) << factor;
  }
}

}  // namespace
}  // namespace headroom::lesson::draws_test
