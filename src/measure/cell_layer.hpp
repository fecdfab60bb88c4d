// A layer, and the call that the shape of a cell stands for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/element/layer_numbers.hpp"
#include "headroom/attention.hpp"
#include "measure/problem.hpp"
#include "plan/shapes/layer_shape.hpp"

namespace headroom::measure {

/// Refers to the problem, which must outlive it.
class CellLayer {
 public:
  /// Makes the layer, and fills its cache with what came before, call by call.
  /// @param fill_tokens of a sequence in one of these calls, at most `plan::kFillTokens`
  /// @throws as `Attention` and `KeyValueCache`.
  CellLayer(const Problem& problem, AttentionOptions options,
            std::int64_t fill_tokens = plan::kFillTokens);

  /// The call of the cell, every time after the same past.
  void forward(ConstMatrixView x, MatrixView y) { call(x, y, nullptr); }
  void forward(ConstMatrixView x, MatrixView y, PhaseTimes& times) { call(x, y, &times); }

  /// What lies in y before a call, and what lies there after it, for a layer whose y is not of
  /// floats: it has an x and a y of its own in its own dtype, and `forward` goes from one to the
  /// other. Nothing otherwise.
  void take(ConstMatrixView y);
  void give(MatrixView y) const;

  Numbers numbers() const;
  const Attention& attention() const { return attention_; }
  /// As for a layer of the cell's own shape.
  const Choice& choice() const { return choice_ ? *choice_ : attention_.choice(); }
  std::int64_t cache_bytes() const { return cache_ ? cache_->bytes() : 0; }
  double fill_seconds() const { return fill_seconds_; }

 private:
  void fill(std::int64_t tokens);
  ConstBf16MatrixView bf16_x() const;
  void call(ConstMatrixView x, MatrixView y, PhaseTimes* times);

  const Problem& problem_;
  std::optional<Choice> choice_;  // set before the layer is made
  Attention attention_;
  std::optional<KeyValueCache> cache_;
  double fill_seconds_ = 0;
  std::vector<Bf16> x_, y_;
};

}  // namespace headroom::measure
