// Products that are cut into several tasks of rows and of columns have the bits of each alone, and
// a task multiplies the rows that it is given, whatever its thread multiplied before.
#include "simd/tiles/tile_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "headroom/initialise.hpp"

namespace headroom::simd::tile_products_test {
namespace {

// More than a task of rows, and more columns than a task of a product in one stage.
constexpr std::int64_t kRows = 2 * 256 + 40;
constexpr std::int64_t kCols = 3 * 64 * kTileBlock + 40;

class TileProductsCut : public testing::TestWithParam<Precision> {
 protected:
  TileProductsCut() : choice_(choose_tiles({kernels_.isa, Unit::emulated}, GetParam())) {
    choice_.few_rows = 0;
  }

  std::vector<PackedMatrix> packed(const ConstMatrixView& w) const {
    std::vector<PackedMatrix> all;
    all.emplace_back(std::vector<ConstAnyMatrix>{w}, std::vector<ConstAnyMatrix>{}, kernels_,
                     Storage::f32, executor_);
    return all;
  }

  Matrix run(TileProducts& products, const ConstMatrixView& x, std::int64_t cols) const {
    Matrix y(x.rows, cols);
    const AnyBlockedView all = BlockedView{y.values.data(), y.rows, cols, 1, cols, 0};
    products.run(executor_, x, {&all, 1});
    return y;
  }

  Matrix alone(const ConstMatrixView& x, const ConstMatrixView& w) const {
    const std::vector<PackedMatrix> weights = packed(w);
    TileProducts products(choice_, kernels_, weights, x.rows, executor_);
    return run(products, x, w.cols);
  }

  /// Of a corner of each task.
  void expect_bits_of_parts(const Matrix& y, const ConstMatrixView& x,
                            const ConstMatrixView& w) const {
    for (std::int64_t row = 0; row < kRows; row += 8 * kTileBlock) {
      for (std::int64_t col = 0; col < kCols; col += 48 * kTileBlock) {
        const std::int64_t rows = std::min<std::int64_t>(3, kRows - row);
        const std::int64_t cols = std::min<std::int64_t>(40, kCols - col);
        const Matrix part = alone({x.row(row), rows, x.cols, x.row_stride},
                                  {w.data + col, w.rows, cols, w.row_stride});
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < cols; ++c) {
            ASSERT_EQ(y.view().row(row + r)[col + c], part.view().row(r)[c])
                << row + r << ", " << col + c;
          }
        }
      }
    }
  }

  const SerialExecutor executor_ = {};
  const KernelTable& kernels_ = kernel_table(available_isas().back());
  TileChoice choice_;
};

TEST_P(TileProductsCut, HasTheBitsOfEachPart) {
  const Matrix w = uniform_matrices(33, kCols, 1, 1).front();
  const std::vector<PackedMatrix> weights = packed(w.view());
  TileProducts products(choice_, kernels_, weights, kRows, executor_);
  // Twice, with other rows: nothing is left of those before.
  for (const std::uint32_t seed : {2U, 3U}) {
    const Matrix x = uniform_matrices(kRows, 33, 1, seed).front();
    expect_bits_of_parts(run(products, x.view(), kCols), x.view(), w.view());
  }
}

TEST_P(TileProductsCut, HasTheBitsOfEachPartInStages) {
  const Matrix w = uniform_matrices(1056, 40, 1, 1).front();
  const Matrix x = uniform_matrices(300, 1056, 1, 2).front();
  const Matrix y = alone(x.view(), w.view());
  const ConstMatrixView last{x.view().row(256), 44, 1056, 1056};
  const Matrix part = alone(last, w.view());
  for (std::int64_t i = 0; i < 44 * 40; ++i) {
    ASSERT_EQ(y.values[static_cast<std::size_t>(256 * 40 + i)],
              part.values[static_cast<std::size_t>(i)]);
  }
}

// Sums of the last rows are still to be written when those of the next columns are begun.
TEST_P(TileProductsCut, HasTheBitsOfFewRowsInHeadsOfAnyWidth) {
  const Matrix w = uniform_matrices(704, 120, 1, 1).front();
  const Matrix x = uniform_matrices(96, 704, 1, 2).front();
  const std::vector<PackedMatrix> weights = packed(w.view());
  TileProducts products(choice_, kernels_, weights, 96, executor_);
  Matrix heads(3 * 96, 40);
  const AnyBlockedView blocks = BlockedView{heads.values.data(), 96, 40, 3, 40, 96 * 40};
  products.run(executor_, x.view(), {&blocks, 1});
  for (std::int64_t row = 0; row < 96; row += kTileBlock) {
    const Matrix few = alone({x.view().row(row), kTileBlock, 704, 704}, w.view());
    for (std::int64_t r = 0; r < kTileBlock; ++r) {
      for (std::int64_t c = 0; c < 120; ++c) {
        ASSERT_EQ(heads.view().row(c / 40 * 96 + row + r)[c % 40], few.view().row(r)[c])
            << row + r << ", " << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, TileProductsCut,
                         testing::Values(Precision::bf16, Precision::bf16x3, Precision::bf16x6,
                                         Precision::bf16x9, Precision::fp16x3),
                         [](const auto& of) { return std::string(to_string(of.param)); });

}  // namespace
}  // namespace headroom::simd::tile_products_test
