#include "attend.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "arrays.hpp"
#include "headroom/error.hpp"

namespace headroom::python {
namespace {

// `(batch, tokens, heads, head_dim)`
ConstHeadsView heads_of(std::string_view name, const nb::ndarray<nb::ro>& array) {
  if (array.ndim() != 4) {
    throw InvalidArgument(
        fmt::format("{} has {} dimensions; allowed are 4: (batch, tokens, heads, head_dim)", name,
                    array.ndim()));
  }
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(array.shape(i)); };
  if (size(3) > 1 && array.stride(3) != 1) {
    throw InvalidArgument(
        fmt::format("{} has strides that the kernels cannot follow; give a contiguous copy", name));
  }
  return {static_cast<const float*>(array.data()),
          size(0),
          size(1),
          size(2),
          size(3),
          array.stride(0),
          array.stride(1),
          array.stride(2)};
}

DotProductSizes sizes_of(const Shape& shape) {
  const std::int64_t keys = shape.d_memory > 0 ? shape.memory_tokens : shape.tokens;
  return {shape.batch, shape.tokens, keys, shape.heads, shape.kv_heads, shape.head_dim()};
}

}  // namespace

Attend::Attend(const Shape& shape, const AttentionOptions& options) {
  shape.validate();
  const nb::gil_scoped_release unlocked;
  attend_.emplace(sizes_of(shape), ScoreRule{shape.causal, shape.window}, options);
}

void Attend::run(nb::handle q, nb::handle k, nb::handle v, nb::handle out) {
  const nb::ndarray<nb::ro> of_q = float_array("q", q);
  const nb::ndarray<nb::ro> of_k = float_array("k", k);
  const nb::ndarray<nb::ro> of_v = float_array("v", v);
  const nb::ndarray<nb::ro> of_out = writable_float_array("out", out);
  const ConstHeadsView to = heads_of("out", of_out);
  const HeadsView written{const_cast<float*>(to.data),
                          to.batch,
                          to.tokens,
                          to.heads,
                          to.head_dim,
                          to.batch_stride,
                          to.token_stride,
                          to.head_stride};
  const ConstHeadsView queries = heads_of("q", of_q);
  const ConstHeadsView keys = heads_of("k", of_k);
  const ConstHeadsView values = heads_of("v", of_v);
  const nb::gil_scoped_release unlocked;
  const std::lock_guard<std::mutex> turn(one_call_);
  attend_->run(queries, keys, values, written);
}

}  // namespace headroom::python
