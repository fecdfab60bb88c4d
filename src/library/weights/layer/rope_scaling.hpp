// How models stretch rotary positions beyond the context that they were first trained for, as
// `rope_parameters` or `rope_scaling` of a configuration says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"

namespace headroom::weights {

/// Fields of a scaling.
struct ScalingFields {
  /// A number above 0, or nothing where the field is missing. @throws FileError for anything else.
  std::function<std::optional<double>(std::string_view)> number;
  /// Numbers above 0, or none. @throws FileError for anything else.
  std::function<std::vector<double>(std::string_view)> numbers;
  /// Whether the field is there and false.
  std::function<bool(std::string_view)> is_false;
  /// @throws FileError that the field must be there, and what it is.
  std::function<void(std::string_view, std::string_view)> require;
};

/// The context that a model was made for, and first trained for.
struct Contexts {
  std::optional<double> longest;   ///< `max_position_embeddings`
  std::optional<double> original;  ///< `original_max_position_embeddings`
};

/// Sets scale, divisors, amplitude, and what changes in long contexts, of rotary positions whose
/// base and width are known.
/// @param type such as `"llama3"`
/// @param width values of a head that are turned
/// @return whether the type is known
/// Sources: the papers of YaRN (Peng et al., 2023) and LongRoPE (Ding et al., 2024), and
/// `modeling_rope_utils.py` of transformers, which defines what the fields mean.
HEADROOM_API bool scale_rotary(std::string_view type, const ScalingFields& fields,
                               const Contexts& contexts, std::int64_t width, Rotary& rotary);

/// What YaRN multiplies queries and keys by, so that scores grow with the logarithm of the stretch.
/// @param multiplier a model's own
HEADROOM_API double yarn_growth(double factor, double multiplier);

}  // namespace headroom::weights
