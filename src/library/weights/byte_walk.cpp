#include "weights/byte_walk.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::weights {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 16;

}  // namespace

void ByteWalk::copy(std::span<char> into) {
  const auto count = static_cast<std::int64_t>(into.size());
  const std::int64_t end = first_ + static_cast<std::int64_t>(piece_.size());
  if (place_ < first_ || place_ + count > end) {
    piece_.resize(static_cast<std::size_t>(std::max(count, std::min(kPiece, rest()))));
    bytes_.read(place_, piece_);
    first_ = place_;
  }
  const auto from = piece_.begin() + static_cast<std::ptrdiff_t>(place_ - first_);
  std::copy_n(from, into.size(), into.begin());
  place_ += count;
}

void ByteWalk::skip(std::uint64_t count, std::string_view what) {
  require(count, 1, what);
  place_ += static_cast<std::int64_t>(count);
}

void ByteWalk::require(std::uint64_t count, std::int64_t least, std::string_view what) const {
  if (count <= static_cast<std::uint64_t>(rest() / least)) return;
  bytes_.fail(place_,
              fmt::format("{} of {} {} cannot be in the {} bytes that follow", what, count,
                          least == 1 ? "bytes" : "items", rest()),
              "the file is truncated, damaged or hostile; get it again");
}

}  // namespace headroom::weights
