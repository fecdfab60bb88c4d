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

}  // namespace

GivenHeads::GivenHeads(const Problem& problem, AttentionOptions options)
    : problem_(problem),
      options_(std::move(options)),
      choice_(settle_auto(problem.shape, options_)),
      attention_(sizes_of(problem.shape), rule_of(problem.shape), options_),
      heads_(attention_, problem.shape, numbers()) {
  const Case& shape = problem.shape;
  if (options_.dtype == Dtype::bf16) {
    x_ = rounded(problem.x);
    y_.resize(x_.size());
    k_.resize(problem.key.values.size());
    v_.resize(problem.value.values.size());
    place_keys(problem.key, shape, k_.data(), to_bf16);
    place_keys(problem.value, shape, v_.data(), to_bf16);
    heads_.fill<Bf16>(k_.data(), v_.data());
    return;
  }
  const auto copy = [](const float* from, std::int64_t count, float* to) {
    std::copy_n(from, count, to);
  };
  key_ = PlacedMatrix(problem.key.rows, problem.key.cols);
  value_ = PlacedMatrix(problem.value.rows, problem.value.cols);
  place_keys(problem.key, shape, key_.view().data, copy);
  place_keys(problem.value, shape, value_.view().data, copy);
  heads_.fill<float>(key_.view().data, value_.view().data);
}

std::int64_t GivenHeads::cache_bytes() const {
  if (const auto bytes = heads_.bytes()) return *bytes;
  const std::int64_t each = size_of(options_.dtype);
  return each * std::ssize(problem_.key.values) * 2;
}

void GivenHeads::call(ConstMatrixView x, MatrixView y, PhaseTimes* times) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = times == nullptr ? Clock::time_point() : Clock::now();
  if (options_.dtype == Dtype::bf16) {
    heads_.run<Bf16>(x_.data(), y_.data(), k_.data(), v_.data());
  } else {
    heads_.run<float>(x.data, y.data, key_.view().data, value_.view().data);
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
