// A layer, and the call that the shape of a cell stands for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/element/numbers_of.hpp"
#include "headroom/attention.hpp"
#include "measure/group/problem.hpp"
#include "plan/shapes/layer_shape.hpp"

namespace headroom::measure {

/// What is checked and timed for a cell: a layer wherever it runs, and the call of the cell.
class CellLayer {
 public:
  virtual ~CellLayer() = default;

  /// The call of the cell, every time after the same past.
  void forward(ConstMatrixView x, MatrixView y) { call(x, y, nullptr); }
  void forward(ConstMatrixView x, MatrixView y, PhaseTimes& times) { call(x, y, &times); }

  /// So many calls of `forward` follow at once, so that others who take part in them need not be
  /// told of each.
  virtual void announce(std::int64_t passes) { static_cast<void>(passes); }

  /// What lies in y before a call, and what lies there after it, for a layer whose y is not of
  /// floats: it has an x and a y of its own in its own dtype, and `forward` goes from one to the
  /// other. Nothing otherwise.
  virtual void take(ConstMatrixView y) { static_cast<void>(y); }
  virtual void give(MatrixView y) const { static_cast<void>(y); }

  virtual const AttentionOptions& options() const = 0;
  virtual const AttentionCosts& costs() const = 0;
  /// As for a layer of the cell's own shape.
  virtual const Choice& choice() const = 0;
  /// Of keys and values that it holds beside its workspace.
  virtual std::int64_t cache_bytes() const = 0;
  virtual double fill_seconds() const = 0;
  Numbers numbers() const { return numbers_of(options(), choice().precision); }

 protected:
  CellLayer() = default;
  CellLayer(const CellLayer&) = default;
  CellLayer& operator=(const CellLayer&) = default;

 private:
  virtual void call(ConstMatrixView x, MatrixView y, PhaseTimes* times) = 0;
};

/// Puts the choice for the shape of a cell in place of `auto`, which else would go by the sizes
/// that what is measured is made for. Nothing for a named backend.
std::optional<Choice> settle_auto(const Case& shape, AttentionOptions& options);

/// One of this process alone. Refers to the problem, which must outlive it.
class LocalLayer final : public CellLayer {
 public:
  /// Makes the layer, and fills its cache with what came before, call by call.
  /// @param fill_tokens of a sequence in one of these calls, at most `plan::kFillTokens`
  /// @throws as `Attention` and `KeyValueCache`.
  LocalLayer(const Problem& problem, AttentionOptions options,
             std::int64_t fill_tokens = plan::kFillTokens);

  void take(ConstMatrixView y) override;
  void give(MatrixView y) const override;
  const Attention& attention() const { return attention_; }
  const AttentionOptions& options() const override { return attention_.options(); }
  const AttentionCosts& costs() const override { return attention_.costs(); }
  const Choice& choice() const override { return choice_ ? *choice_ : attention_.choice(); }
  std::int64_t cache_bytes() const override { return cache_ ? cache_->bytes() : 0; }
  double fill_seconds() const override { return fill_seconds_; }

 private:
  void fill(std::int64_t tokens);
  void call(ConstMatrixView x, MatrixView y, PhaseTimes* times) override;

  const Problem& problem_;
  std::optional<Choice> choice_;  // set before the layer is made
  Attention attention_;
  std::optional<KeyValueCache> cache_;
  double fill_seconds_ = 0;
  std::vector<Bf16> x_, y_;
};

/// A cell is timed again and again over the same cache, which is cut to its past after each pass.
/// @throws Unsupported where that is not possible
void require_cut(const Case& shape, const Numbers& numbers);

}  // namespace headroom::measure
