/// @file
/// How a layer is arranged, and the backend name that leaves the choice open.
#pragma once

#include <optional>
#include <string_view>

#include "headroom/export.h"

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

/// The backend name that leaves the choice to `choose_backend`.
inline constexpr std::string_view kAuto = "auto";

}  // namespace headroom
