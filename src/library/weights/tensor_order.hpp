// What every file of tensors has to keep to: different names, and no byte that is two tensors' or
// nobody's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weights/byte_source.hpp"
#include "weights/tensor.hpp"

namespace headroom::weights {

inline constexpr std::string_view kGetFile = "the file is damaged or hostile; get it again";

/// @throws FileError naming file and tensor.
[[noreturn]] void fail_tensor(const ByteSource& bytes, const Tensor& tensor,
                              const std::string& found);

/// @throws FileError naming a tensor whose name another one has.
void sort_by_name(const ByteSource& bytes, std::vector<Tensor>& tensors);

/// @param first byte behind the header
/// @param alignment the gap before a tensor, and what follows the last one, has fewer bytes
/// @throws FileError naming the tensor that overlaps another one or lies behind a gap.
void require_no_gaps(const ByteSource& bytes, const std::vector<Tensor>& tensors,
                     std::int64_t first, std::int64_t alignment);

}  // namespace headroom::weights
