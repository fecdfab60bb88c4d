// Every backend against PyTorch's results for calls of every kind.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/case_layer.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "support/layer_cases.hpp"
#include "support/torch_calls.hpp"

namespace headroom::test::layer_torch_test {
namespace {

/// What came before goes into a cache first.
Matrix run_call(const LayerCase& who, const Layer& layer) {
  Case room = layer.shape;
  room.past = 0;
  room.lengths.clear();
  room.tokens = std::max(layer.shape.tokens, layer.shape.past);
  room.memory_tokens =
      std::max(layer.shape.memory_tokens, room.d_memory > 0 ? layer.shape.past : 0);
  Attention attention = layer_for(room, layer.weights, who.options());
  KeyValueCache cache(attention, {room.batch, std::max<std::int64_t>(layer.shape.context(), 1)});
  Call call;
  call.cache = &cache;
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  if (layer.shape.past > 0 && room.d_memory == 0) {
    Matrix unused(layer.past.rows, y.cols);
    attention.forward(layer.past.view(), unused.view(), call);
  }
  if (room.d_memory > 0) {
    if (layer.shape.past > 0) {
      call.memory = layer.past.view();
      const ConstMatrixView no_x{nullptr, 0, room.d_in, room.d_in};
      attention.forward(no_x, MatrixView{nullptr, 0, y.cols, y.cols}, call);
    }
    call.memory = layer.memory.view();
  }
  call.lengths = layer.shape.lengths;
  attention.forward(layer.x.view(), y.view(), call);
  return y;
}

class LayerTorch : public LayerTest {};

TEST_P(LayerTorch, CallsAreWithinTheContract) {
  for (const TorchCall& call : torch_calls()) {
    const Matrix y = run_call(GetParam(), call.layer);
    reference::Expected expected =
        reference::attention(call.layer.shape, call.layer.weights, call.layer.inputs(),
                             reference::all_rows(call.layer.shape), 1);
    ASSERT_EQ(expected.y.size(), call.exact.size());
    expected.y = call.exact;  // PyTorch's own, with the bound of the oracle
    for (const auto data : {reference::Data::standard, reference::Data::adversarial}) {
      const reference::Comparison found = reference::compare(expected, y.view(), data);
      EXPECT_TRUE(found.passed) << call.name << ": " << found.reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerTorch, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_torch_test
