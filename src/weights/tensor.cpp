#include "weights/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace headroom::weights {

void StoredTensor::fail(const std::string& found, std::string_view next) const {
  throw FileError(fmt::format("{}: tensor '{}', at byte {}: {}; {}", file->path().string(),
                              shown_name(tensor.name), tensor.offset, found, next));
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t kMost = 120;
  std::string text(name.substr(0, kMost));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return name.size() > kMost ? text + "..." : text;
}

std::string shown_dims(const std::vector<std::int64_t>& dims) {
  return fmt::format("({})", fmt::join(dims, ", "));
}

}  // namespace headroom::weights
