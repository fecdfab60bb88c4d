// The Python dictionary in the header of a .npy file. By hand, because numpy evaluates Python, and
// no packaged reader is made for files that may be hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weights/byte_source.hpp"

namespace headroom::weights {

struct NpyDictionary {
  std::string descr;  ///< such as `<f4`
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// @param offset of the text in the file, for messages
/// @throws FileError through `bytes` at the first byte that does not fit.
NpyDictionary parse_npy_dictionary(const ByteSource& bytes, std::string_view text,
                                   std::int64_t offset);

}  // namespace headroom::weights
