// The kernels with their full tiles under a sanitizer, whose builds otherwise have low ones: one
// level, in buffers of exactly the size that is asked for. A tile's height must not change a bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "headroom/initialise.hpp"
#include "simd/attend.hpp"
#include "simd/kernel_table.hpp"
#include "simd/project.hpp"

namespace headroom::simd {

namespace full_tiles {
extern const KernelTable kTable;
}

namespace {

class FullTiles : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    const std::vector<Isa> here = available_isas();
    if (std::find(here.begin(), here.end(), full_tiles::kTable.isa) == here.end()) {
      GTEST_SKIP() << "this machine has no " << to_string(full_tiles::kTable.isa);
    }
    ASSERT_GT(full_tiles::kTable.tile_rows, low_.tile_rows);
  }

  const KernelTable& low_ = kernel_table(full_tiles::kTable.isa);
  const SerialExecutor executor_{};
};

TEST_P(FullTiles, ProductsHaveTheBitsOfLowOnes) {
  for (const std::int64_t cols : {1, 9, 16, 40}) {
    constexpr std::int64_t kDepth = 805;  // two stages, and a chunk that is not whole
    const Matrix x = uniform_matrices(GetParam(), kDepth, 1, 1).front();
    const Matrix w = uniform_matrices(kDepth, cols, 1, 2).front();
    const auto run = [&](const KernelTable& kernels) {
      std::vector<PackedMatrix> weights;
      weights.emplace_back(std::vector<ConstAnyMatrix>{w.view()}, std::vector<ConstAnyMatrix>{},
                           kernels, Storage::f32, executor_);
      BlockedProducts products(kernels, std::move(weights), x.rows, executor_,
                               project_variants(kernels.isa).front());
      Matrix y(x.rows, cols);
      const AnyBlockedView all = BlockedView{y.values.data(), y.rows, cols, 1, cols, 0};
      products.run(executor_, x.view(), {&all, 1});
      return y.values;
    };
    const std::vector<float> found = run(full_tiles::kTable);
    EXPECT_EQ(found, run(low_)) << cols << " columns";
  }
}

TEST_P(FullTiles, AttentionHasTheBitsOfLowOnes) {
  for (const bool causal : {true, false}) {
    Case shape;
    shape.tokens = GetParam();
    shape.d_in = shape.d_out = 3 * 21;
    shape.heads = 3;
    shape.causal = causal;
    const std::vector<Matrix> qkv = uniform_matrices(shape.tokens, shape.d_out, 3, 3);
    const auto run = [&](const KernelTable& kernels) {
      StreamingAttention attention(kernels, {}, Storage::f32, shape, executor_);
      const auto heads = [&](const Matrix& matrix) {
        return BlockedView{
            const_cast<float*>(matrix.values.data()), shape.tokens, shape.d_out, 3, 21, 21};
      };
      Matrix y(shape.tokens, shape.d_out);
      const std::vector<Sequence> sequences = sequences_of(shape);
      attention.run(executor_, {heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), heads(y), sequences},
                    nullptr);
      return y.values;
    };
    const std::vector<float> found = run(full_tiles::kTable);
    EXPECT_EQ(found, run(low_)) << "causal " << causal;
  }
}

// Every height of a tile, and tiles of differing heights.
INSTANTIATE_TEST_SUITE_P(Rows, FullTiles, testing::Values(1, 2, 3, 4, 5, 6, 7, 12, 13, 300));

}  // namespace
}  // namespace headroom::simd
