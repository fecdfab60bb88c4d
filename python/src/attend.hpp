// The attention of a layer alone, over queries, keys and values that others made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "headroom/attention.hpp"
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
  void check(std::span<const std::int64_t> queries, std::span<const std::int64_t> keys) const;

  Shape shape_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<HeadAttention> attend_;
  std::mutex one_call_;
};

}  // namespace headroom::python
