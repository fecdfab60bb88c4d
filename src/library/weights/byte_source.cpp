#include "weights/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/shown.hpp"

namespace headroom::weights {

void ByteSource::fail(std::int64_t offset, const std::string& found, std::string_view next) const {
  throw FileError(fmt::format("{}: byte {}: {}; {}", shown_path(path()), offset, found, next));
}

void ByteSource::read(std::int64_t offset, std::span<char> into) const {
  const std::size_t count = read_some(offset, into);
  if (count == into.size()) return;
  fail(offset + static_cast<std::int64_t>(count),
       fmt::format("the file ends here, {} bytes too early", into.size() - count),
       "it is truncated, or was while it was read; get it again");
}

MemoryBytes::MemoryBytes(std::filesystem::path path, std::string_view text)
    : path_(std::move(path)), text_(text) {}

std::size_t MemoryBytes::read_some(std::int64_t offset, std::span<char> into) const {
  if (offset < 0 || offset > size()) return 0;
  const std::string_view rest = text_.substr(static_cast<std::size_t>(offset), into.size());
  std::copy(rest.begin(), rest.end(), into.begin());
  return rest.size();
}

}  // namespace headroom::weights
