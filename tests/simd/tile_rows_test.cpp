// Keys that tiles cut straight from rows have the bits of those that lie in panels, on every level;
// and what a task leaves in its memory reaches no later one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "headroom/headroom.hpp"
#include "simd/attend.hpp"
#include "support/layer_cases.hpp"

namespace headroom::simd::tile_rows_test {
namespace {

struct Kind {
  Isa isa;
  Numbers numbers;
};

class TileRows : public testing::TestWithParam<Kind> {
 protected:
  TileChoice tiles() const {
    return choose_tiles({kernels_.isa, Unit::emulated}, GetParam().numbers.precision);
  }
  StreamingAttention made(const TileChoice& choice, const Case& shape) const {
    return {kernels_, choice, storage_of(GetParam().numbers.dtype), shape, executor_};
  }
  static Case shape_of(std::int64_t tokens, std::int64_t head_dim) {
    Case shape;
    shape.tokens = tokens;
    shape.heads = 2;
    shape.d_in = shape.d_out = 2 * head_dim;
    return shape;
  }

  /// Queries, keys and values; and room for the same as bfloat16.
  struct Inputs {
    explicit Inputs(const Case& shape, std::uint64_t seed)
        : q(gaussian_input(shape.tokens, shape, seed)),
          k(gaussian_input(shape.tokens, shape, seed + 1)),
          v(gaussian_input(shape.tokens, shape, seed + 2)) {}
    Matrix q, k, v;
    std::vector<Bf16> half_k = {}, half_v = {};
  };
  static AnyBlockedView heads_of(Matrix& matrix) {
    const std::int64_t width = matrix.cols / 2;
    return BlockedView{matrix.view().data, matrix.rows, matrix.cols, 2, width, width};
  }
  static AnyBlockedView half_heads_of(const Matrix& matrix, std::vector<Bf16>& halves) {
    halves.clear();
    for (const float each : matrix.values) halves.push_back(round_to_bf16(each));
    const std::int64_t width = matrix.cols / 2;
    return {halves.data(), Dtype::bf16, matrix.rows, matrix.cols, 2, width, width};
  }

  /// @param stored whether keys are packed, as into a cache
  /// @param halves whether keys and values are given as bfloat16
  Matrix run(StreamingAttention& attend, const Case& shape, Inputs& in, bool stored,
             bool halves = false) const {
    Matrix y(in.q.rows, in.q.cols);
    const std::vector<Sequence> sequences = sequences_of(shape);
    const std::unique_ptr<PackedStore> store =
        stored ? attend.make_store(executor_, 1, shape.tokens) : nullptr;
    const AnyBlockedView k = halves ? half_heads_of(in.k, in.half_k) : heads_of(in.k);
    const AnyBlockedView v = halves ? half_heads_of(in.v, in.half_v) : heads_of(in.v);
    attend.run(executor_, {heads_of(in.q), k, v, heads_of(y), sequences, nullptr}, store.get());
    return y;
  }

  static void expect_same_bits(const Matrix& found, const Matrix& wanted) {
    ASSERT_TRUE(test::same_bits(found, wanted));
  }

  const SerialExecutor executor_ = {};
  const KernelTable& kernels_ = kernel_table(GetParam().isa);
};

TEST_P(TileRows, HaveTheBitsOfPanels) {
  for (const std::int64_t head_dim : {64, 24, 37}) {
    for (const std::int64_t tokens : {128, 41, 270}) {
      const Case shape = shape_of(tokens, head_dim);
      StreamingAttention attend = made(tiles(), shape);
      Inputs in(shape, 1);
      expect_same_bits(run(attend, shape, in, false), run(attend, shape, in, true));
      if (GetParam().numbers.dtype == Dtype::f32) continue;
      expect_same_bits(run(attend, shape, in, false, true), run(attend, shape, in, true));
    }
  }
}

// These are packed late, for the rows that see them.
TEST_P(TileRows, ThatPartsCannotCarryAreLeftToF32) {
  const Case shape = shape_of(128, 64);
  for (const float value : {std::numeric_limits<float>::infinity(), -0x1p-110F}) {
    Inputs in(shape, 1);
    in.k.view().row(50)[70] = value;
    StreamingAttention packs = made(tiles(), shape);
    StreamingAttention cuts = made(tiles(), shape);
    expect_same_bits(run(cuts, shape, in, false), run(packs, shape, in, true));
  }
}

// A tile's first block begins its state, in each segment, and wherever a window lets it begin.
TEST_P(TileRows, SeeNothingOfEarlierTasks) {
  for (const std::int64_t window : {0, 70}) {
    Case shape = shape_of(1060, 24);
    shape.window = window;
    StreamingAttention fresh = made(tiles(), shape);
    StreamingAttention used = made(tiles(), shape);
    Inputs large(shape, 1);
    Inputs in(shape, 4);
    for (float& each : large.q.values) each *= 100;
    run(used, shape, large, false);
    const Matrix found = run(fresh, shape, in, false);
    expect_same_bits(run(used, shape, in, false), found);
    StreamingAttention exact = made({}, shape);
    const Matrix wanted = run(exact, shape, in, false);
    const float limit = GetParam().numbers.precision == Precision::bf16 ? 0.1F : 2e-3F;
    for (std::size_t i = 0; i < wanted.values.size(); ++i) {
      ASSERT_NEAR(found.values[i], wanted.values[i], limit) << "element " << i;
    }
  }
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const Isa isa : available_isas()) {
    for (const Precision precision : {Precision::bf16, Precision::bf16x3, Precision::bf16x6}) {
      all.push_back({isa, {precision, Dtype::f32}});
      all.push_back({isa, {precision, Dtype::bf16}});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, TileRows, testing::ValuesIn(kinds()), [](const auto& param) {
  std::string name(to_string(param.param.isa));
  std::erase(name, '.');
  return name + "_" + std::string(to_string(param.param.numbers.precision)) + "_" +
         std::string(to_string(param.param.numbers.dtype));
});

}  // namespace
}  // namespace headroom::simd::tile_rows_test
