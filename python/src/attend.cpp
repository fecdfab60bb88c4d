#include "attend.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "arrays.hpp"
#include "headroom/error.hpp"

namespace headroom::python {
namespace {

// `(batch, tokens, heads, head_dim)`
AnyHeads heads_of(std::string_view name, const nb::ndarray<nb::ro>& array) {
  if (array.ndim() != 4) {
    throw InvalidArgument(
        fmt::format("{} has {} dimensions; allowed are 4: (batch, tokens, heads, head_dim)", name,
                    array.ndim()));
  }
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(array.shape(i)); };
  if (array.size() > 0 && array.stride(3) != 1 && size(3) > 1) {
    throw InvalidArgument(
        fmt::format("{} has strides that the kernels cannot follow; give a contiguous copy", name));
  }
  // Whether it may be written was asked when it was taken.
  return {const_cast<void*>(array.data()),
          is_bf16(array) ? Dtype::bf16 : Dtype::f32,
          size(0),
          size(1),
          size(2),
          size(3),
          array.stride(0),
          array.stride(1),
          array.stride(2)};
}

std::span<const float> sinks_of(const nb::ndarray<nb::ro>& array) {
  if (array.ndim() != 1 || array.dtype() != nb::dtype<float>() ||
      (array.shape(0) > 1 && array.stride(0) != 1)) {
    throw InvalidArgument("sinks are no row of float32; give one contiguous value for each head");
  }
  return {static_cast<const float*>(array.data()), array.shape(0)};
}

}  // namespace

Attend::Attend(const DotProductSizes& most, const ScoreRule& rule,
               const AttentionOptions& options) {
  const nb::gil_scoped_release unlocked;
  state_ = std::make_shared<AttendState>(DotProductAttention(most, rule, options));
}

void Attend::run(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle mask,
                 nb::handle sinks, const std::optional<std::vector<std::int64_t>>& query_lengths,
                 const std::optional<std::vector<std::int64_t>>& key_lengths, Cache* cache) {
  const nb::ndarray<nb::ro> of_q = heads_array("q", q);
  const nb::ndarray<nb::ro> of_k = heads_array("k", k);
  const nb::ndarray<nb::ro> of_v = heads_array("v", v);
  const nb::ndarray<nb::ro> of_out = writable_heads_array("out", out);
  const AnyHeads queries = heads_of("q", of_q);
  const AnyHeads keys = heads_of("k", of_k);
  const AnyHeads values = heads_of("v", of_v);
  const AnyHeads written = heads_of("out", of_out);
  DotProductCall call;
  const ArrayMask of_mask(mask);
  call.mask = of_mask.view();
  nb::ndarray<nb::ro> of_sinks;
  if (!sinks.is_none()) {
    of_sinks = heads_array("sinks", sinks);
    call.sinks = sinks_of(of_sinks);
  }
  if (query_lengths) call.queries = *query_lengths;
  if (key_lengths) call.keys = *key_lengths;
  if (cache != nullptr) call.cache = cache->get();
  const Turn turn(*state_);
  state_->attention.run(queries, keys, values, written, call);
}

std::unique_ptr<Cache> Attend::make_cache(std::int64_t sequences, std::int64_t capacity) const {
  return std::make_unique<Cache>(state_, KeyValueCache(state_->attention, {sequences, capacity}));
}

}  // namespace headroom::python
