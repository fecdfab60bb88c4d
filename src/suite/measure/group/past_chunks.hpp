// How a cache is filled with what came before the call of a cell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "headroom/attention.hpp"
#include "plan/shapes/layer_shape.hpp"

namespace headroom::measure {

/// Calls `append(first row, rows, call)` for one chunk after the other of the past of all
/// sequences; the call's lengths say whose it is. One sequence after the other, because the past
/// of each is contiguous.
/// @param tokens of a sequence in one chunk, `plan::kFillTokens` at most
template <class Append>
void for_each_chunk_of_past(const Case& shape, std::int64_t tokens, const Append& append) {
  const std::int64_t most = std::min(tokens, plan::kFillTokens);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(shape.batch), 0);
  Call call;
  call.lengths = lengths;
  call.context = shape.context();  // turned as in the call that follows
  for (std::int64_t sequence = 0; sequence < shape.batch; ++sequence) {
    std::int64_t& length = lengths[static_cast<std::size_t>(sequence)];
    for (std::int64_t done = 0; done < shape.past; done += length) {
      length = std::min(most, shape.past - done);
      append(sequence * shape.past + done, length, call);
    }
    length = 0;
  }
}

}  // namespace headroom::measure
