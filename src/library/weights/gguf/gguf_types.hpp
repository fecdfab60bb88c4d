// Types of tensors in GGUF files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weights/element.hpp"

namespace headroom::weights {

/// Values are stored in blocks along the innermost axis.
struct GgufType {
  std::uint32_t number = 0;  ///< in files
  std::string_view name;
  std::int64_t block = 1;  ///< values of a block
  std::int64_t bytes = 0;  ///< of a block
  std::optional<Element> element = std::nullopt;
};

/// @return null for a type that is not known
const GgufType* find_gguf_type(std::uint32_t number);

}  // namespace headroom::weights
