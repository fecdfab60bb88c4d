// `model.safetensors.index.json`: which of several files holds each tensor.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headroom/export.h"
#include "weights/byte_source.hpp"

namespace headroom::weights {

struct SafetensorsIndex {
  struct Entry {
    std::string tensor;
    std::size_t file = 0;  ///< place in `files`
  };
  std::vector<std::string> files;  ///< names in the index's own folder
  std::vector<Entry> entries;      ///< in the order of the tensors' names
};

/// Bytes and tensors of an index at most.
inline constexpr std::int64_t kMaxIndexBytes = std::int64_t{16} << 20;
inline constexpr std::size_t kMaxIndexTensors = 300'000;

/// @throws FileError that names the tensor, such as for a file outside of the folder.
HEADROOM_API SafetensorsIndex read_safetensors_index(const ByteSource& bytes);

}  // namespace headroom::weights
