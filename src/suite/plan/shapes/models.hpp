// Shapes with well-known names, and the presets made of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.hpp"

namespace headroom::plan {

/// Sizes before the axes given on the command line override them.
struct ShapeSeed {
  std::int64_t d_model = 0;  ///< width of the layer's input and of its output projection
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  bool keeps_width = true;  ///< `--heads` keeps the total width; otherwise it keeps `head_dim`
  std::vector<std::int64_t> tokens;
  std::int64_t kv_heads = 0;  ///< as in `LayerConfig`
  std::vector<std::int64_t> pasts{0};
  std::vector<std::int64_t> batches{1};
  LayerConfig rules = {};  ///< all but its sizes
};

/// Tokens where no axis says how many.
inline constexpr std::int64_t kDefaultTokens = 128;

/// @throws InvalidArgument for an unknown name; the message suggests the nearest one.
ShapeSeed model_shape(std::string_view name);

/// @throws InvalidArgument for an unknown name; the message suggests the nearest one.
std::vector<ShapeSeed> preset_shapes(std::string_view name);

const std::vector<std::string>& model_names();
const std::vector<std::string>& preset_names();

}  // namespace headroom::plan
