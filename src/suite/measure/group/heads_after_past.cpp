#include "measure/group/heads_after_past.hpp"

#include <cstddef>
#include <vector>

#include "headroom/dtype.hpp"
#include "measure/group/cell_layer.hpp"
#include "measure/group/heads_layout.hpp"

namespace headroom::measure {
namespace {

// `count` of a view's tokens from `first` on, of each sequence.
template <class T>
BasicHeadsView<const T> tokens_of(BasicHeadsView<const T> view, std::int64_t first,
                                  std::int64_t count) {
  view.data += first * view.token_stride;
  view.tokens = count;
  return view;
}

}  // namespace

HeadsAfterPast::HeadsAfterPast(DotProductAttention& attention, const Case& shape,
                               const Numbers& numbers)
    : attention_(attention), shape_(shape), keeps_(shape.past > 0 && numbers.cache.has_value()) {
  require_cut(shape, numbers);
}

template <class T>
void HeadsAfterPast::fill(const T* keys, const T* values) {
  if (!keeps_) return;
  cache_.emplace(attention_, CacheSize{shape_.batch, shape_.context()});
  const std::vector<std::int64_t> none(static_cast<std::size_t>(shape_.batch));
  const T* no_queries = keys;
  auto query = query_heads(no_queries, shape_);
  query.tokens = 0;
  DotProductCall call;
  call.queries = none;
  call.cache = &*cache_;
  std::vector<T> nothing(static_cast<std::size_t>(shape_.d_out));
  auto out = query_heads(nothing.data(), shape_);
  out.tokens = 0;
  attention_.run(query, tokens_of(key_heads(keys, shape_), 0, shape_.past),
                 tokens_of(key_heads(values, shape_), 0, shape_.past), out, call);
}

template <class T>
void HeadsAfterPast::run(const T* x, T* y, const T* keys, const T* values) {
  const auto queries = query_heads(x, shape_);
  const auto out = query_heads(y, shape_);
  if (!cache_) {
    attention_.run(queries, key_heads(keys, shape_), key_heads(values, shape_), out);
    return;
  }
  for (std::int64_t i = 0; i < shape_.batch; ++i) cache_->truncate({i, shape_.past});
  DotProductCall call;
  call.cache = &*cache_;
  attention_.run(queries, tokens_of(key_heads(keys, shape_), shape_.past, shape_.tokens),
                 tokens_of(key_heads(values, shape_), shape_.past, shape_.tokens), out, call);
}

std::optional<std::int64_t> HeadsAfterPast::bytes() const {
  if (!cache_) return std::nullopt;
  return cache_->bytes();
}

template void HeadsAfterPast::fill(const float*, const float*);
template void HeadsAfterPast::fill(const Bf16*, const Bf16*);
template void HeadsAfterPast::run(const float*, float*, const float*, const float*);
template void HeadsAfterPast::run(const Bf16*, Bf16*, const Bf16*, const Bf16*);

}  // namespace headroom::measure
