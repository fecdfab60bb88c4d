// The code for the processor's tile unit against the emulated one, bit for bit. Where there are no
// tiles, its instructions run in a signal handler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "core/element/fp16_tiles.hpp"
#include "core/executor.hpp"
#include "headroom/headroom.hpp"
#include "processor/unit_facts.hpp"
#include "simd/attend.hpp"
#include "simd/tiles/tile_products.hpp"
#include "support/tile_processor.hpp"

#if defined(__x86_64__)

namespace headroom::simd {
namespace amx {
extern const TileKernels kTiles;
}
namespace avx512 {
extern const TileKernels kTiles;
}

namespace {

const TilePrecision& of(const TileKernels& tiles, Precision precision) {
  switch (precision) {
    case Precision::bf16x9:
      return tiles.bf16x9;
    case Precision::bf16x6:
      return tiles.bf16x6;
    case Precision::fp16x3:
      return tiles.fp16x3;
    case Precision::bf16x3:
      return tiles.bf16x3;
    default:
      return tiles.bf16;
  }
}

class TileInstructions : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    const std::vector<Isa> here = available_isas();
    if (std::find(here.begin(), here.end(), Isa::avx512) == here.end()) {
      GTEST_SKIP() << "this machine has no avx512, which the code for tiles needs";
    }
    // Every processor with tiles has it. No signal handler executes what it converts with.
    if (!unit_facts().avx512_bf16) GTEST_SKIP() << "this machine has no AVX512_BF16";
    if (!why_no_unit(Unit::amx, Isa::avx512, unit_facts()).empty()) {
      processor_.emplace();
    } else if (GetParam() == Precision::fp16x3 && fp16_tiles() == Fp16Tiles::none) {
      GTEST_SKIP() << "these tiles announce no products of fp16 (HEADROOM_AMX_FP16=1 tries them)";
    }
  }
  void expect_used() const {
    if (!processor_) return;
    EXPECT_GT(processor_->executed(), 0);
  }

  TileChoice processor() const { return {&of(amx::kTiles, GetParam()), GetParam(), 0}; }
  TileChoice emulated() const { return {&of(avx512::kTiles, GetParam()), GetParam(), 0}; }

  std::optional<test::TileProcessor> processor_;
};

Matrix product(const TileChoice& choice, std::int64_t rows, std::int64_t depth, std::int64_t cols) {
  Case shape;
  shape.tokens = rows;
  shape.d_in = depth;
  shape.d_out = cols;
  const SplitWeights weights = gaussian_weights(shape, 3);
  const Matrix x = gaussian_input(shape.rows(), shape, 4);
  const KernelTable& f32 = kernel_table(Isa::avx512);
  const SerialExecutor executor;
  std::vector<PackedMatrix> packed;
  packed.emplace_back(std::vector<ConstAnyMatrix>{weights.query.view()},
                      std::vector<ConstAnyMatrix>{}, f32, Storage::f32, executor);
  TileProducts products(choice, f32, packed, rows, executor);
  Matrix y(rows, cols);
  const AnyBlockedView out = BlockedView{y.view().data, rows, cols, 1, cols, 0};
  products.run(executor, x.view(), std::span(&out, 1));
  return y;
}

Matrix attention(const TileChoice& choice, std::int64_t tokens, std::int64_t heads,
                 std::int64_t head_dim) {
  Case shape;
  shape.tokens = tokens;
  shape.d_in = shape.d_out = heads * head_dim;
  shape.heads = heads;
  const std::int64_t width = shape.d_out;
  Matrix q = gaussian_input(shape.rows(), shape, 5);
  Matrix k = gaussian_input(shape.rows(), shape, 6);
  Matrix v = gaussian_input(shape.rows(), shape, 7);
  Matrix y(tokens, width);
  const auto heads_of = [&](Matrix& matrix) {
    return BlockedView{matrix.view().data, tokens, width, heads, head_dim, head_dim};
  };
  const SerialExecutor executor;
  StreamingAttention attend(kernel_table(Isa::avx512), choice, Storage::f32, shape, executor);
  const std::vector<Sequence> sequences = sequences_of(shape);
  attend.run(executor, {heads_of(q), heads_of(k), heads_of(v), heads_of(y), sequences, nullptr},
             nullptr);
  return y;
}

void expect_same(const Matrix& found, const Matrix& wanted) {
  for (std::int64_t r = 0; r < wanted.view().rows; ++r) {
    for (std::int64_t c = 0; c < wanted.view().cols; ++c) {
      ASSERT_EQ(found.view().row(r)[c], wanted.view().row(r)[c]) << "row " << r << ", column " << c;
    }
  }
}

TEST_P(TileInstructions, MultiplyAsTheEmulatorDoes) {
  expect_same(product(processor(), 70, 100, 90), product(emulated(), 70, 100, 90));
  expect_same(product(processor(), 33, 1100, 33), product(emulated(), 33, 1100, 33));
  expect_same(product(processor(), 7, 40, 40), product(emulated(), 7, 40, 40));
  expect_used();
}

TEST_P(TileInstructions, AttendAsTheEmulatorDoes) {
  expect_same(attention(processor(), 70, 2, 40), attention(emulated(), 70, 2, 40));
  expect_same(attention(processor(), 290, 1, 64), attention(emulated(), 290, 1, 64));
  expect_used();
}

TEST_P(TileInstructions, ReleaseTheTiles) {
  if (!processor_) GTEST_SKIP() << "what a thread has configured is seen in the handler alone";
  product(processor(), 40, 64, 64);
  EXPECT_FALSE(processor_->configured());
}

TEST_P(TileInstructions, LeaveTheConfigurationOfOthersAsItWas) {
  if (!processor_) GTEST_SKIP() << "what a thread has configured is seen in the handler alone";
  test::configure_as_others_do();
  product(processor(), 40, 64, 64);
  EXPECT_EQ(test::configured_palette(), 1);
  EXPECT_EQ(test::configured_rows(), 5);
  attention(processor(), 40, 2, 32);
  EXPECT_EQ(test::configured_rows(), 5);
  asm volatile("tilerelease");
}

TEST_P(TileInstructions, MultiplyInABurst) {
  float sink = 0;
  EXPECT_EQ(processor().kernels->burst(2, &sink), 2 * 2.0 * 32 * 32 * 64);
  EXPECT_NE(sink, 0);
  expect_used();
}

INSTANTIATE_TEST_SUITE_P(Precisions, TileInstructions,
                         testing::Values(Precision::bf16x9, Precision::bf16x6, Precision::fp16x3,
                                         Precision::bf16x3, Precision::bf16),
                         [](const auto& param) { return std::string(to_string(param.param)); });

// Nothing is multiplied: only what would be.
TEST(Fp16Tiles, AreUsedWhereTheyAreAnnouncedOrForced) {
  const char* before = std::getenv("HEADROOM_AMX_FP16");
  const std::optional<std::string> kept =
      before == nullptr ? std::nullopt : std::optional<std::string>(before);
  const Target tiles{Isa::avx512, Unit::amx};
  setenv("HEADROOM_AMX_FP16", "0", 1);
  EXPECT_EQ(fp16_tiles(), Fp16Tiles::none);
  EXPECT_EQ(tile_precision(tiles, Precision::fp16x3), nullptr);
  EXPECT_NE(tile_precision(tiles, Precision::bf16x6), nullptr);
  setenv("HEADROOM_AMX_FP16", "1", 1);
  EXPECT_EQ(fp16_tiles(), Fp16Tiles::forced);
  EXPECT_NE(tile_precision(tiles, Precision::fp16x3), nullptr);
  EXPECT_EQ(tile_precision({Isa::avx512, Unit::avx512_bf16}, Precision::fp16x3), nullptr);
  setenv("HEADROOM_AMX_FP16", "yes", 1);
  EXPECT_THROW(fp16_tiles(), Unavailable);
  if (kept) {
    setenv("HEADROOM_AMX_FP16", kept->c_str(), 1);
  } else {
    unsetenv("HEADROOM_AMX_FP16");
  }
}

}  // namespace
}  // namespace headroom::simd

#endif
