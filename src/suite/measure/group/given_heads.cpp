#include "measure/group/given_heads.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "core/element/convert.hpp"
#include "measure/group/heads_layout.hpp"

namespace headroom::measure {
namespace {

std::vector<Bf16> rounded(const Matrix& from) {
  std::vector<Bf16> to(from.values.size());
  to_bf16(from.values.data(), std::ssize(from.values), to.data());
  return to;
}

// `count` of a view's tokens from `first` on, of each sequence.
template <class T>
BasicHeadsView<const T> tokens_of(BasicHeadsView<const T> view, std::int64_t first,
                                  std::int64_t count) {
  view.data += first * view.token_stride;
  view.tokens = count;
  return view;
}

}  // namespace

GivenHeads::GivenHeads(const Problem& problem, AttentionOptions options)
    : problem_(problem),
      options_(std::move(options)),
      choice_(settle_auto(problem.shape, options_)),
      attention_(sizes_of(problem.shape), rule_of(problem.shape), options_) {
  const Case& shape = problem.shape;
  require_cut(shape, numbers());
  if (options_.dtype == Dtype::bf16) {
    x_ = rounded(problem.x);
    y_.resize(x_.size());
    k_.resize(problem.key.values.size());
    v_.resize(problem.value.values.size());
    place_keys(problem.key, shape, k_.data(), to_bf16);
    place_keys(problem.value, shape, v_.data(), to_bf16);
    fill(k_.data(), v_.data());
    return;
  }
  const auto copy = [](const float* from, std::int64_t count, float* to) {
    std::copy_n(from, count, to);
  };
  key_ = PlacedMatrix(problem.key.rows, problem.key.cols);
  value_ = PlacedMatrix(problem.value.rows, problem.value.cols);
  place_keys(problem.key, shape, key_.view().data, copy);
  place_keys(problem.value, shape, value_.view().data, copy);
  fill<float>(key_.view().data, value_.view().data);
}

// Rounding the past would be most of a step's time, and a cache has it rounded.
template <class T>
void GivenHeads::fill(const T* keys, const T* values) {
  const Case& shape = problem_.shape;
  if (shape.past == 0 || !numbers().cache) return;
  cache_.emplace(attention_, CacheSize{shape.batch, shape.context()});
  const std::vector<std::int64_t> none(static_cast<std::size_t>(shape.batch));
  const T* no_queries = keys;
  auto query = query_heads(no_queries, shape);
  query.tokens = 0;
  DotProductCall call;
  call.queries = none;
  call.cache = &*cache_;
  std::vector<T> nothing(static_cast<std::size_t>(shape.d_out));
  auto out = query_heads(nothing.data(), shape);
  out.tokens = 0;
  attention_.run(query, tokens_of(key_heads(keys, shape), 0, shape.past),
                 tokens_of(key_heads(values, shape), 0, shape.past), out, call);
}

template <class T>
void GivenHeads::run(const T* x, T* y, const T* keys, const T* values) {
  const Case& shape = problem_.shape;
  const auto queries = query_heads(x, shape);
  const auto out = query_heads(y, shape);
  if (!cache_) {
    attention_.run(queries, key_heads(keys, shape), key_heads(values, shape), out);
    return;
  }
  for (std::int64_t i = 0; i < shape.batch; ++i) cache_->truncate({i, shape.past});
  DotProductCall call;
  call.cache = &*cache_;
  attention_.run(queries, tokens_of(key_heads(keys, shape), shape.past, shape.tokens),
                 tokens_of(key_heads(values, shape), shape.past, shape.tokens), out, call);
}

std::int64_t GivenHeads::cache_bytes() const {
  if (cache_) return cache_->bytes();
  const std::int64_t each = size_of(options_.dtype);
  return each * std::ssize(problem_.key.values) * 2;
}

void GivenHeads::call(ConstMatrixView x, MatrixView y, PhaseTimes* times) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = times == nullptr ? Clock::time_point() : Clock::now();
  if (options_.dtype == Dtype::bf16) {
    run<Bf16>(x_.data(), y_.data(), k_.data(), v_.data());
  } else {
    run<float>(x.data, y.data, key_.view().data, value_.view().data);
  }
  if (times == nullptr) return;
  *times = {};
  times->attend = std::chrono::duration<double>(Clock::now() - start).count();
}

void GivenHeads::take(ConstMatrixView y) {
  if (!y_.empty()) to_bf16(y.data, std::ssize(y_), y_.data());
}

void GivenHeads::give(MatrixView y) const {
  if (!y_.empty()) from_bf16(y_.data(), std::ssize(y_), y.data);
}

}  // namespace headroom::measure
