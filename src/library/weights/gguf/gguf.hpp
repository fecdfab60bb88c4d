// The header of a GGUF file (as ggml's documentation describes it), versions 2 and 3: metadata, one
// entry for each tensor, and then the tensors, each at a multiple of the alignment.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "headroom/export.h"
#include "weights/byte_source.hpp"
#include "weights/tensor.hpp"

namespace headroom::weights {

struct GgufHeader {
  nlohmann::json metadata;      ///< as `read_gguf_metadata` says
  std::vector<Tensor> tensors;  ///< in the order of their names; the outermost size first
};

/// By its first bytes.
bool is_gguf(const ByteSource& bytes);

/// Every byte behind the header belongs to one tensor, or pads up to the alignment.
/// @throws FileError that names the key or the tensor, for anything else.
HEADROOM_API GgufHeader read_gguf_header(const ByteSource& bytes);

}  // namespace headroom::weights
