// A stored tensor, and where its bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"
#include "weights/byte_source.hpp"
#include "weights/element.hpp"

namespace headroom::weights {

/// The most dimensions of a tensor that is read.
inline constexpr std::size_t kMostDims = 32;
/// Tensors of one file at most.
inline constexpr std::size_t kMaxTensors = 100'000;

struct Tensor {
  std::string name;
  std::string dtype;            ///< as the file says it, such as `BF16` or `<f4`
  std::optional<Element> type;  ///< empty for types that do not become weights, such as I64
  std::vector<std::int64_t> dims;
  bool fortran = false;     ///< the first index varies fastest
  std::int64_t offset = 0;  ///< in the file
  std::int64_t bytes = 0;
};

struct StoredTensor {
  Tensor tensor;
  std::shared_ptr<const ByteSource> file;

  /// @throws FileError naming file and tensor.
  [[noreturn]] void fail(const std::string& found, std::string_view next) const;
};

/// A name from a file, short and without control characters.
HEADROOM_API std::string shown_name(std::string_view name);

/// Such as `(768, 2304)`.
HEADROOM_API std::string shown_dims(const std::vector<std::int64_t>& dims);

}  // namespace headroom::weights
