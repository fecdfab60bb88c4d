// Bytes of packed weights in the estimate of a cell's memory, by what they are stored as and which
// parts are cut beforehand.
#include <gtest/gtest.h>

#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::plan::packed_weights_test {
namespace {

TEST(PackedWeights, TakeWhatTheirFormsTakeTogether) {
  Case shape;
  shape.tokens = 16;
  shape.d_in = shape.d_out = shape.d_proj = 768;
  shape.heads = 12;
  const auto bytes_a_weight = [&](Precision precision, Dtype dtype) {
    Cell cell;
    cell.backend = "xsimd";
    cell.unit = Unit::emulated;
    cell.numbers = {precision, dtype};
    Cell plain = cell;
    plain.numbers = {};
    const auto weights = static_cast<double>(shape.bytes().weights) / sizeof(float);
    return 4 + static_cast<double>(cell_bytes(shape, cell) - cell_bytes(shape, plain)) / weights;
  };
  EXPECT_EQ(bytes_a_weight(Precision::f32, Dtype::bf16), 2);
  EXPECT_EQ(bytes_a_weight(Precision::bf16x6, Dtype::f32), 4 + 6);
  EXPECT_EQ(bytes_a_weight(Precision::bf16x3, Dtype::f32), 4 + 4);
  EXPECT_EQ(bytes_a_weight(Precision::bf16, Dtype::f32), 4 + 2);
  EXPECT_EQ(bytes_a_weight(Precision::bf16x6, Dtype::bf16), 2 + 2);
}

}  // namespace
}  // namespace headroom::plan::packed_weights_test
