// Attention of some heads with its data between guard pages, and what it should give.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/case.hpp"
#include "support/operation_cases.hpp"

namespace headroom::test {

/// What the output holds before a run.
inline constexpr float kUntouched = 12345.0f;

Case attention_shape(std::int64_t tokens, std::int64_t head_dim, std::int64_t heads = 1,
                     std::int64_t batch = 1, bool causal = true);

/// Gaussian query, key and value in the backend's layout, and a token-major output, each with a
/// guard page on both sides. `padding` floats follow each row.
class AttendProblem {
 public:
  using Side = GuardedBuffer::Side;
  AttendProblem(const Case& shape, HeadLayout layout, std::int64_t padding = 0,
                Side side = Side::at_end);

  BlockedView q() const { return in_.view(q_.data()); }
  BlockedView k() const { return in_.view(k_.data()); }
  BlockedView v() const { return in_.view(v_.data()); }
  BlockedView out() const { return out_.view(y_.data()); }
  AttendCall call() const { return {q(), k(), v(), out(), sequences_}; }
  std::span<float> out_values() const { return y_.values(); }
  std::span<const float> out_row(std::int64_t row, std::int64_t head) const {
    return {out().at(row, head), static_cast<std::size_t>(shape_.head_dim())};
  }
  const Case& shape() const { return shape_; }

 private:
  Case shape_;
  std::vector<Sequence> sequences_;
  Activations in_, out_;
  GuardedBuffer q_, k_, v_, y_;
};

/// Changes every value of a view, not the padding.
void for_each(const BlockedView& view, const std::function<void(float&)>& change);

/// Every element of the output is within its bound of a double loop's, and a number.
testing::AssertionResult matches(const AttendProblem& problem);

class OperationAttend : public OperationTest {
 protected:
  void run(const AttendProblem& problem) const { run(*backend_, problem); }
  static void run(Backend& backend, const AttendProblem& problem) {
    backend.make_attention(problem.shape())->run(problem.call());
  }
  AttendProblem make_problem(const Case& shape) const {
    return AttendProblem(shape, backend_->head_layout());
  }
};

}  // namespace headroom::test
