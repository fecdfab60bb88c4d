// Precision and dtype as axes: cells, their names, groups, and what a backend declines.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "plan/budget.hpp"
#include "plan/cell.hpp"
#include "plan/expand.hpp"

namespace headroom::plan::precision_test {
namespace {

Axes small() {
  Axes axes;
  axes.backend = "naive";
  axes.formulation = "split";
  axes.tokens = "4";
  axes.heads = "2";
  return axes;
}

TEST(PrecisionAxis, NamesStandInTheThirdPart) {
  Cell cell;
  cell.backend = "tbb";
  cell.threads = 2;
  Case shape;
  shape.tokens = 4;
  shape.d_in = shape.d_out = shape.d_proj = 8;
  shape.heads = 2;
  EXPECT_EQ(cell_id(shape, cell), "split/tbb/f32/t2/B1_T4_D8_H2");
  cell.numbers.precision = Precision::bf16x6;
  EXPECT_EQ(cell_id(shape, cell), "split/tbb/bf16x6/t2/B1_T4_D8_H2");
  cell.numbers = {Precision::bf16, Dtype::bf16};
  EXPECT_EQ(cell_id(shape, cell), "split/tbb/bf16-bf16/t2/B1_T4_D8_H2");
  cell.numbers.precision = Precision::f32;
  EXPECT_EQ(cell_id(shape, cell), "split/tbb/f32-bf16/t2/B1_T4_D8_H2");
  EXPECT_EQ(cell.options().dtype, Dtype::bf16);
  EXPECT_EQ(cell.options().precision, Precision::f32);
  cell.numbers.weights = Storage::q4;
  EXPECT_EQ(cell_id(shape, cell), "split/tbb/f32-bf16-wq4/t2/B1_T4_D8_H2");
  cell.numbers.dtype = Dtype::f32;
  EXPECT_EQ(cell_id(shape, cell), "split/tbb/f32-wq4/t2/B1_T4_D8_H2");
  EXPECT_EQ(cell.options().weights_dtype, Storage::q4);
  cell.numbers.cache = Storage::q8;
  EXPECT_EQ(cell_id(shape, cell), "split/tbb/f32-wq4-cq8/t2/B1_T4_D8_H2");
  EXPECT_EQ(cell.options().cache_dtype, Storage::q8);
}

TEST(PrecisionAxis, TextsAreListsOfNames) {
  Axes axes;
  EXPECT_EQ(rival_axes_of(axes).precisions, std::vector{Precision::f32});
  axes.precision = "bf16,f32";
  EXPECT_EQ(rival_axes_of(axes).precisions, (std::vector{Precision::bf16, Precision::f32}));
  axes.precision = "all";
  EXPECT_EQ(axes.precision.values().size(), kAllPrecisions.size());
  axes.dtype = "all";
  EXPECT_EQ(axes.dtype.values(), (std::vector{Dtype::f32, Dtype::bf16}));
  const auto text_of = [](auto axis, const char* text) -> std::string {
    try {
      axis = text;
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text_of(axes.precision, "bf16x4").find("--precision: unknown precision 'bf16x4'"),
            std::string::npos);
  EXPECT_NE(text_of(axes.precision, "f32,,bf16").find("empty name"), std::string::npos);
  EXPECT_NE(text_of(axes.dtype, "f16").find("bf16"), std::string::npos);
}

TEST(PrecisionAxis, AutoStandsForAllThatIsAsExactAsF32) {
  Axes axes;
  axes.precision = "bf16,auto,f32";
  EXPECT_EQ(rival_axes_of(axes).precisions,
            (std::vector{Precision::bf16, Precision::f32, Precision::fp16x3, Precision::bf16x6}));
}

TEST(PrecisionAxis, ACellOfAutoKnowsWhatItTakes) {
  Axes axes = small();
  axes.backend = "auto";
  axes.precision = "f32,auto";
  axes.threads = "1";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.cell_count(), 2U);
  const Cell& named = plan.groups.front().cells[0];
  const Cell& any = plan.groups.front().cells[1];
  EXPECT_EQ(named.id, "split/auto/f32/t1/B1_T4_D128_H2");
  EXPECT_EQ(any.id, "split/auto/auto/t1/B1_T4_D128_H2") << "whatever it takes";
  EXPECT_EQ(named.options().precision, Precision::f32);
  EXPECT_EQ(any.options().precision, std::nullopt);
  EXPECT_EQ(any.numbers.precision, Precision::f32) << "four rows are too few for any unit";
  EXPECT_EQ(numbers_words(any), "auto: f32");
  EXPECT_EQ(numbers_words(named), "f32");
  EXPECT_FALSE(any.unsupported) << any.skip_reason;
}

TEST(PrecisionAxis, EachDtypeIsAGroupOfItsOwn) {
  Axes axes = small();
  axes.precision = "f32,bf16";
  axes.dtype = "f32,bf16";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.groups.size(), 2U);
  for (const Group& group : plan.groups) {
    ASSERT_EQ(group.cells.size(), 2U);
    for (const Cell& cell : group.cells) EXPECT_EQ(cell.numbers.dtype, group.stored().dtype);
  }
  EXPECT_EQ(plan.groups[0].stored().dtype, Dtype::f32);
  EXPECT_EQ(plan.groups[1].stored().dtype, Dtype::bf16);
}

TEST(PrecisionAxis, EachStorageOfWeightsIsAGroupOfItsOwn) {
  Axes axes = small();
  axes.weights_dtype = "f32,q8";
  EXPECT_EQ(stored_of(axes), (std::vector<Numbers>{{}, {Precision::f32, Dtype::f32, Storage::q8}}));
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].stored(), Numbers{});
  EXPECT_EQ(plan.groups[1].stored().weights, Storage::q8);
  EXPECT_FALSE(plan.groups[1].cells.front().unsupported);
  axes.weights_dtype = "all";
  axes.dtype = "bf16";
  const std::vector<Numbers> of_bf16 = stored_of(axes);
  ASSERT_EQ(of_bf16.size(), 4U);
  EXPECT_EQ(of_bf16[0].weights, Storage::f32);
  EXPECT_EQ(of_bf16[1].weights, std::nullopt) << "what bf16 says by itself";
}

TEST(PrecisionAxis, EachStorageOfCachesIsAGroupOfItsOwn) {
  Axes axes = small();
  axes.cache_dtype = "f32,q8";
  axes.weights_dtype = "q8,q4";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.groups.size(), 4U);
  EXPECT_EQ(plan.groups[0].stored().cache, std::nullopt);
  EXPECT_EQ(plan.groups[1].stored(),
            (Numbers{Precision::f32, Dtype::f32, Storage::q8, Storage::q8}));
  EXPECT_EQ(plan.groups[3].stored().cache, Storage::q8);
  EXPECT_THROW(axes.cache_dtype = "q4", InvalidArgument);
}

TEST(PrecisionAxis, WhatABackendHasNotIsUnsupportedWithTheReason) {
  Axes axes = small();
  axes.precision = "f32,bf16x6";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.cell_count(), 2U);
  const std::vector<Cell>& cells = plan.groups.front().cells;
  EXPECT_FALSE(cells[0].unsupported);
  EXPECT_EQ(cells[0].skip_reason, "");
  EXPECT_TRUE(cells[1].unsupported);
  EXPECT_NE(cells[1].skip_reason.find("naive has no bf16x6"), std::string::npos)
      << cells[1].skip_reason;
}

TEST(PrecisionAxis, NothingThatCanBeComputedIsNotAvailable) {
  Axes axes = small();
  axes.precision = "bf16";
  try {
    expand(axes, {});
    FAIL() << "naive has no bf16";
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find("--precision"), std::string::npos) << error.what();
  }
  axes.precision = "f32";
  axes.dtype = "bf16";
  EXPECT_THROW(expand(axes, {}), Unavailable);
}

TEST(PrecisionAxis, RepeatedOnesAreMeasuredOnce) {
  Axes axes = small();
  axes.precision = "f32,f32";
  const Plan plan = expand(axes, {});
  EXPECT_EQ(plan.cell_count(), 1U);
  ASSERT_EQ(plan.notes.size(), 1U);
  EXPECT_NE(plan.notes.front().find("--precision"), std::string::npos);
}

// The budget's own reason must not stand in place of the backend's.
TEST(PrecisionAxis, ABudgetDoesNotTouchWhatCannotBeComputed) {
  Axes axes = small();
  axes.tokens = "512";
  axes.precision = "f32,bf16";
  Plan plan = expand(axes, {});
  const std::string reason = plan.groups.front().cells[1].skip_reason;
  TimingPlan timing;
  fit_budget(plan, timing, 1e-6, Estimator());
  EXPECT_NE(plan.groups.front().cells[0].skip_reason, "");
  EXPECT_EQ(plan.groups.front().cells[1].skip_reason, reason);
}

TEST(PrecisionAxis, AutoThatFindsNoBackendSaysSo) {
  Axes axes = small();
  axes.backend = "auto,naive";
  axes.precision = "f32,bf16";
  const Plan plan = expand(axes, {});
  std::size_t unsupported = 0;
  for (const Cell& cell : plan.groups.front().cells) {
    if (cell.numbers.precision == Precision::f32) {
      EXPECT_FALSE(cell.unsupported) << cell.id;
      continue;
    }
    EXPECT_TRUE(cell.unsupported) << cell.id;
    ++unsupported;
  }
  EXPECT_EQ(unsupported, 2U);
}

}  // namespace
}  // namespace headroom::plan::precision_test
