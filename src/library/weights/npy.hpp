// Arrays as numpy.save writes them (NEP 1, versions 1 to 3 of the format).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headroom/export.h"
#include "weights/byte_source.hpp"
#include "weights/element.hpp"

namespace headroom::weights {

/// What the header says. The file holds exactly what it promises.
struct NpyHeader {
  Element type = Element::f32;  ///< f32 or f64
  std::vector<std::int64_t> dims;
  bool fortran = false;  ///< the first index varies fastest
  std::int64_t count = 0;
  std::int64_t offset = 0;  ///< of the first value
};

/// Values in C order: the last index varies fastest.
struct NpyArray {
  std::vector<std::int64_t> dims;
  std::vector<float> values;
};

/// @throws FileError with path and byte offset for anything but a well-formed header of
///         little-endian float32 or float64 values, and if the file is shorter or longer than it
///         says. Allocates no more than the header's bytes.
HEADROOM_API NpyHeader read_npy_header(const ByteSource& bytes);

/// The array; float64 is rounded to float32, and Fortran order becomes C order. Beside the values
/// it allocates no more than a mebibyte.
/// @throws FileError as `read_npy_header`, and for a float64 beyond the range of float32.
HEADROOM_API NpyArray read_npy(const ByteSource& bytes);

/// The same. @throws FileError also if the file is missing, unreadable or no regular file.
HEADROOM_API NpyArray read_npy(const std::filesystem::path& path);

/// What stands before the values of a float32 array in C order.
HEADROOM_API std::string npy_header(std::span<const std::int64_t> dims);

}  // namespace headroom::weights
