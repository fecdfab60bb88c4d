#include "headroom/dropout.hpp"

#include <algorithm>

namespace headroom {
namespace {

constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  constexpr int kRounds = 10;
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;  // golden ratio
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

void DropoutPattern::factors(std::uint64_t row_index, std::int64_t first_column, std::int64_t count,
                             float* out) const {
  if (probability == 0) {
    std::fill_n(out, count, 1.0F);
    return;
  }
  constexpr double kDraws = 4294967296.0;  // 2^32
  const double dropped_below = probability * kDraws;
  const auto kept = static_cast<float>(1 / (1 - probability));
  const std::array<std::uint32_t, 2> key{low(seed), high(seed)};
  const auto first = static_cast<std::uint64_t>(first_column);
  const std::uint64_t end = first + static_cast<std::uint64_t>(count);
  for (std::uint64_t column = first; column < end;) {
    const std::uint64_t block = column / 4;
    const auto draws = philox4x32({low(block), high(block), low(row_index), high(row_index)}, key);
    for (const std::uint64_t block_end = std::min(end, 4 * block + 4); column < block_end;) {
      *out++ = static_cast<double>(draws[column++ % 4]) < dropped_below ? 0.0F : kept;
    }
  }
}

}  // namespace headroom
