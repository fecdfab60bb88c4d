// What `general.architecture` of a GGUF file stands for, as far as headroom computes it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "headroom/layer_config.hpp"

namespace headroom::weights {

struct GgufArchitecture {
  std::string_view name;
  std::string_view family;  ///< `model_type` of config.json: see families.hpp
  /// Converters of some families change the order of query and key rows, so that the values of a
  /// pair are neighbours.
  Rotary::Pairs pairs = Rotary::Pairs::none;
  std::int64_t period = 0;  ///< every so many layers one without a window; 0: there is none
  double local_base = 0;    ///< of rotary positions in layers with a window; 0: that of the others
  /// The number of layers of the one size whose scores are scaled by the width over the heads and
  /// not by the width of a head.
  std::int64_t wide_blocks = 0;
  bool rounds_yarn = true;  ///< the pairs between which YaRN blends are whole numbers
  /// Keys that must be there, because what they are without is not said anywhere.
  std::array<std::string_view, 2> required = {};
};

/// @return null for an architecture that is not known
const GgufArchitecture* find_gguf_architecture(std::string_view name);

/// Their names, for people.
std::string_view gguf_architecture_words();

}  // namespace headroom::weights
