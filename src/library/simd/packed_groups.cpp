#include "simd/packed_groups.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/element/few_bits.hpp"
#include "core/element/read_matrix.hpp"

namespace headroom::simd {
namespace {

constexpr std::int64_t kMostCols = 32;  // two vectors of the widest level
constexpr std::int64_t kWordRows = 8;

using Floats = std::array<float, kGroup * kMostCols>;

// `count` rows of the depth from `k` on; columns beyond the last are zeros.
void read_rows(const PanelColumns& columns, std::int64_t k, std::int64_t count, Floats& to) {
  to.fill(0);
  std::int64_t part_first = 0;
  for (const ConstAnyMatrix& part : columns.parts) {
    const std::int64_t begin = std::max(columns.first, part_first);
    const std::int64_t end = std::min(columns.first + columns.width, part_first + part.cols);
    if (begin < end) {
      const ConstAnyMatrix own = part.columns(begin - part_first, end - begin);
      read_matrix({own.row(k), own.dtype, count, own.cols, own.row_stride, own.col_stride},
                  {to.data() + (begin - columns.first), count, own.cols, columns.width});
    }
    part_first += part.cols;
  }
}

void put(std::byte* to, std::int64_t index, std::uint32_t value, std::int64_t bytes) {
  std::memcpy(to + index * bytes, &value, static_cast<std::size_t>(bytes));
}

// The values of column `c` of a panel so wide.
void put_rows(Storage storage, const WeightGroup& group, std::int64_t c, std::int64_t width,
              std::byte* to) {
  if (storage == Storage::q8) {
    for (std::int64_t i = 0; i < kGroup; ++i) put(to, i * width + c, group.bits(i), 1);
    return;
  }
  for (std::int64_t row = 0; row < kGroup; row += kWordRows) {
    std::uint32_t word = 0;
    for (std::int64_t i = 0; i < kWordRows; ++i) {
      word |= (group.bits(row + i) & 15U) << (4 * i);
    }
    put(to, row / kWordRows * width + c, word, sizeof(word));
  }
}

// One value of each byte, of the rows from `row` on that are a quarter of a group apart.
std::uint32_t bytes_of_rows(const WeightGroup& group, std::int64_t row, std::uint32_t offset) {
  std::uint32_t word = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    word |= ((group.bits(row + i * kGroup / 4) + offset) & 255U) << (8 * i);
  }
  return word;
}

void put_words(Storage storage, const WeightGroup& group, std::int64_t c, std::int64_t width,
               std::byte* to) {
  constexpr std::uint32_t kOffsetOf8 = 128;
  constexpr std::uint32_t kOffsetOf4 = 8;
  const std::int64_t words = storage == Storage::q8 ? kGroup / 4 : kGroup / 8;
  for (std::int64_t w = 0; w < words; ++w) {
    const std::uint32_t word = storage == Storage::q8
                                   ? bytes_of_rows(group, w, kOffsetOf8)
                                   : bytes_of_rows(group, w, kOffsetOf4) |
                                         bytes_of_rows(group, w + words, kOffsetOf4) << 4;
    put(to, w * width + c, word, sizeof(word));
  }
}

}  // namespace

void pack_groups(Storage storage, GroupOrder order, const PanelColumns& columns, std::byte* to) {
  const std::int64_t depth = columns.parts.front().rows;
  const std::int64_t width = columns.width;
  Floats floats;
  for (std::int64_t k = 0; k < depth; k += kGroup) {
    const std::int64_t count = std::min(kGroup, depth - k);
    read_rows(columns, k, count, floats);
    std::byte* values = to + width * std::int64_t{sizeof(F16)};
    for (std::int64_t c = 0; c < width; ++c) {
      const WeightGroup group = store_group(storage, floats.data() + c, count, width);
      put(to, c, group.scale.bits, sizeof(F16));
      (order == GroupOrder::rows ? put_rows : put_words)(storage, group, c, width, values);
    }
    to += storage_bytes(storage, kGroup * width);
  }
}

}  // namespace headroom::simd
