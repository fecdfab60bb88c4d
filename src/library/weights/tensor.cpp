#include "weights/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/shown.hpp"

namespace headroom::weights {

void StoredTensor::fail(const std::string& found, std::string_view next) const {
  throw FileError(fmt::format("{}: tensor '{}', at byte {}: {}; {}", shown_path(file->path()),
                              shown_name(tensor.name), tensor.offset, found, next));
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t kMost = 120;
  return shown_start(name, kMost);
}

std::string shown_dims(const std::vector<std::int64_t>& dims) {
  return fmt::format("({})", fmt::join(dims, ", "));
}

}  // namespace headroom::weights
