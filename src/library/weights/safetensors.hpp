// The header of a safetensors file (https://github.com/huggingface/safetensors): eight bytes of its
// length, JSON with one entry for each tensor, and then the tensors without gaps.
#pragma once

#include <vector>

#include "headroom/export.h"
#include "weights/byte_source.hpp"
#include "weights/tensor.hpp"

namespace headroom::weights {

/// Bytes of a header at most.
inline constexpr std::int64_t kMaxSafetensorsHeader = std::int64_t{16} << 20;

/// All tensors, in the order of their names. The file's bytes behind the header belong to exactly
/// one tensor each.
/// @throws FileError that names the tensor, for anything else.
HEADROOM_API std::vector<Tensor> read_safetensors_header(const ByteSource& bytes);

}  // namespace headroom::weights
