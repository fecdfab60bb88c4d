/// @file
/// The layer itself: made once for a shape, then run as often as needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headroom/export.h"
#include "headroom/isa.hpp"
#include "headroom/shape.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// How the query, key and value projections are arranged.
enum class Formulation {
  wrapper,  ///< 3 H products with `d_in x head_dim` matrices
  split,    ///< 3 products with `d_in x d_out` matrices, columns viewed as heads
  fused,    ///< 1 product with the same matrices side by side, `d_in x 3 d_out`
};

/// `"wrapper"`, `"split"` or `"fused"`.
HEADROOM_API std::string_view to_string(Formulation formulation);

/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Formulation> parse_formulation(std::string_view name);

/// Choices that change who computes the layer, never what is computed.
struct AttentionOptions {
  std::string backend = "xsimd";
  Formulation formulation = Formulation::split;
  int threads = 0;  ///< 0: every core this process may use; ignored by one-thread backends
  std::optional<Isa> isa = std::nullopt;  ///< force an instruction-set level; see `select_isa`
};

/// Wall-clock seconds of the parts of one forward pass.
struct PhaseTimes {
  double qkv = 0;
  double attend = 0;
  double output = 0;
};

/// What making and keeping a layer costs, and who does its work.
struct AttentionCosts {
  double setup_seconds = 0;          ///< packing and preparing, in the constructor
  std::int64_t packed_bytes = 0;     ///< the backend's own copy of the weights
  std::int64_t workspace_bytes = 0;  ///< everything else the layer holds between calls
  std::string project_provenance;    ///< such as `"brg:avx512_core"` or `"simd:avx512"`
  std::string attend_provenance;
};

/// A multi-head attention layer for one shape, with packed weights and its own workspace.
///
/// Different objects may run at the same time; one object runs one `forward` at a time.
class HEADROOM_API Attention {
 public:
  /// Packs the weights and prepares the backend. The weights may be freed afterwards.
  /// @throws InvalidArgument for an invalid shape, weights that do not fit it, or an unknown
  ///         backend; Unavailable for a backend or instruction set that is not here; Unsupported
  ///         if the backend declines the shape; std::bad_alloc if memory runs out.
  Attention(const Shape& shape, const SplitWeights& weights, const AttentionOptions& options = {});
  ~Attention();
  Attention(Attention&&) noexcept;
  Attention& operator=(Attention&&) noexcept;

  /// Computes `y` from `x`. Allocates nothing and starts no thread.
  /// @param x `B * T` rows of `d_in`, any alignment.
  /// @param y `B * T` rows of `output_width()`, any alignment, not overlapping `x`.
  /// @throws InvalidArgument naming the view, before `y` is touched, if a pointer is null, a size
  ///         is not the shape's, a stride is below the width, or the views overlap.
  void forward(ConstMatrixView x, MatrixView y);

  /// The same, and the time of each part.
  void forward(ConstMatrixView x, MatrixView y, PhaseTimes& times);

  const Shape& shape() const;
  /// The options as they took effect: threads and instruction set filled in.
  const AttentionOptions& options() const;
  const AttentionCosts& costs() const;

 private:
  class Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace headroom
