// Attention over queries, keys and values that are given, as a cell.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/placed_matrix.hpp"
#include "headroom/dot_product.hpp"
#include "measure/group/cell_layer.hpp"
#include "measure/group/heads_after_past.hpp"
#include "measure/group/problem.hpp"

namespace headroom::measure {

/// `DotProductAttention` with the keys and values of a problem: x is the queries, y the output.
/// Refers to the problem, which must outlive it.
class GivenHeads final : public CellLayer {
 public:
  /// @throws as `DotProductAttention`.
  GivenHeads(const Problem& problem, AttentionOptions options);

  void take(ConstMatrixView y) override;
  void give(MatrixView y) const override;
  const AttentionOptions& options() const override { return options_; }
  const AttentionCosts& costs() const override { return attention_.costs(); }
  const Choice& choice() const override { return choice_ ? *choice_ : attention_.choice(); }
  /// Its own keys and values, which stand where a layer has its cache.
  std::int64_t cache_bytes() const override;
  double fill_seconds() const override { return 0; }

 private:
  void call(ConstMatrixView x, MatrixView y, PhaseTimes* times) override;

  const Problem& problem_;
  AttentionOptions options_;
  std::optional<Choice> choice_;  // set before attention is made
  DotProductAttention attention_;
  HeadsAfterPast heads_;
  // Not the problem's own, whose pages every process of the group shares.
  PlacedMatrix key_, value_;
  std::vector<Bf16> x_, k_, v_, y_;  // in place of them, where bf16 is stored
};

}  // namespace headroom::measure
