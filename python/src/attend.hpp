// The attention of a layer alone, over queries, keys and values that others made.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <optional>

#include "headroom/dot_product.hpp"
#include "headroom/shape.hpp"

namespace headroom::python {

namespace nb = nanobind;

/// `softmax(q k^T / sqrt(head_dim)) v` of each head. Without `Shape::d_memory` there are as many
/// keys as queries.
class Attend {
 public:
  /// @param shape heads, mask, and the largest call; widths of inputs do not matter
  Attend(const Shape& shape, const AttentionOptions& options);

  /// @param q and out `(batch, tokens, heads, head_dim)`, k and v `(batch, keys, kv_heads,
  ///        head_dim)`; values of a head contiguous, else any strides above 0
  /// @throws nb::type_error, InvalidArgument for arrays that do not fit
  void run(nb::handle q, nb::handle k, nb::handle v, nb::handle out);

 private:
  std::optional<DotProductAttention> attend_;  // made while other threads of Python may run
  std::mutex one_call_;
};

}  // namespace headroom::python
