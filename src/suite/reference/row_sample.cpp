#include "reference/row_sample.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "reference/call_rows.hpp"

namespace headroom::reference {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014). The distributions of the standard library differ between
// libraries.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  /// Below `bound`; the bias of the remainder is below 2^-20 for all sizes that fit in memory.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

// Rows of the highest tile, of a panel, of two, and keys of a block. Kernels cut evenly and
// libraries as they like, so these are likely places and no more.
constexpr std::array<std::int64_t, 4> kHeights{14, 16, 32, 256};

struct Span {
  std::int64_t first;
  std::int64_t rows;
};

// Some sequence, or where that one is empty the next that is not.
Span some_sequence(const Case& shape, const Sequences& sequences, Draws& draws) {
  std::int64_t sequence = draws.below(shape.batch);
  while (sequences.length(sequence) == 0) sequence = (sequence + 1) % shape.batch;
  return {sequences.first(sequence), sequences.length(sequence)};
}

// The first or the last row of some sequence.
std::int64_t end_of_sequence(const Case& shape, const Sequences& sequences, Draws& draws) {
  const Span span = some_sequence(shape, sequences, draws);
  return span.first + (draws.below(2) == 0 ? 0 : span.rows - 1);
}

// Beside an edge of a tile, which may be one of all rows or one of a single sequence.
std::int64_t edge_of_tile(const Case& shape, const Sequences& sequences, Draws& draws) {
  const bool within = draws.below(2) == 0;
  const Span span = within ? some_sequence(shape, sequences, draws) : Span{0, shape.rows()};
  const std::int64_t height = kHeights[static_cast<std::size_t>(draws.below(kHeights.size()))];
  const std::int64_t edge = draws.below(span.rows / height + 1) * height + draws.below(3) - 1;
  return span.first + std::clamp<std::int64_t>(edge, 0, span.rows - 1);
}

// Each of the rows that are left is as likely as any other.
void fill_up(std::set<std::int64_t>& rows, std::int64_t count, std::int64_t all, Draws& draws) {
  std::int64_t left = all - static_cast<std::int64_t>(rows.size());
  std::int64_t wanted = count - static_cast<std::int64_t>(rows.size());
  for (std::int64_t row = 0; wanted > 0; ++row) {
    if (rows.count(row) != 0) continue;
    if (draws.below(left--) >= wanted) continue;
    rows.insert(row);
    --wanted;
  }
}

}  // namespace

std::vector<std::int64_t> sampled_rows(const Case& shape, std::int64_t count, std::uint64_t seed) {
  Draws draws(seed);
  const Sequences sequences(shape);
  std::set<std::int64_t> rows{0, shape.rows() - 1};
  for (std::int64_t i = 0; i < (count - 2) * 2 / 3; ++i) {
    const bool end = shape.batch > 1 && i % 2 == 0;
    rows.insert(end ? end_of_sequence(shape, sequences, draws)
                    : edge_of_tile(shape, sequences, draws));
  }
  fill_up(rows, count, shape.rows(), draws);
  return {rows.begin(), rows.end()};
}

}  // namespace headroom::reference
