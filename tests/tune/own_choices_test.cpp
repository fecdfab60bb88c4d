// What info says of a layer's own kernels is what a layer takes.
#include "tune/own_choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "backends/backend.hpp"
#include "core/element/layer_numbers.hpp"

namespace headroom::tune::own_choices_test {
namespace {

TEST(OwnChoices, NameAVariantAndWhy) {
  const auto own = own_choices();
  ASSERT_TRUE(own);
  const auto names = backend_facts(own->f32.backend).kernel_variants(select_target().isa);
  EXPECT_NE(std::find(names.begin(), names.end(), own->f32.kernels), names.end())
      << own->f32.kernels;
  EXPECT_NE(own->f32.kernels_reason.find("first choice"), std::string::npos);
  EXPECT_EQ(own->others.size(), kAllPrecisions.size() - 2) << "f32 and int8 have no unit";
  for (const auto& [precision, choice] : own->others) {
    if (choice.precision != precision) {
      EXPECT_EQ(choice.unit, Unit::none);
      EXPECT_NE(choice.precision_reason, "") << to_string(precision);
    }
  }
}

TEST(OwnChoices, GoByTheUnit) {
  setenv("HEADROOM_UNIT", "emulated", 1);
  const auto own = own_choices();
  setenv("HEADROOM_UNIT", "none", 1);
  const auto without = own_choices();
  unsetenv("HEADROOM_UNIT");
  ASSERT_TRUE(own && without);
  std::map<Precision, std::int64_t> few_rows;
  for (const auto& [precision, choice] : own->others) {
    EXPECT_EQ(choice.unit, Unit::emulated);
    EXPECT_EQ(choice.precision, precision);
    few_rows[precision] = choice.few_rows;
  }
  EXPECT_GT(few_rows[Precision::bf16], 0);
  EXPECT_GT(few_rows[Precision::bf16x3], few_rows[Precision::bf16]) << "more products pay later";
  EXPECT_GT(few_rows[Precision::bf16x6], few_rows[Precision::bf16x3]);
  for (const auto& [precision, choice] : without->others) {
    EXPECT_EQ(choice.precision, Precision::f32) << to_string(precision);
  }
}

}  // namespace
}  // namespace headroom::tune::own_choices_test
