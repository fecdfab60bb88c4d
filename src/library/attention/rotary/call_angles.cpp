#include "attention/rotary/call_angles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/error.hpp"

namespace headroom {
namespace {

// Above, not every whole number is a double.
constexpr std::int64_t kMostPosition = std::int64_t{1} << 53;

// Of a head of 128 values a table of so many takes 8 MiB.
constexpr std::int64_t kMostKnown = std::int64_t{1} << 14;

template <class... Arguments>
[[noreturn]] void refuse_call(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw InvalidArgument("forward: " + fmt::format(text, std::forward<Arguments>(arguments)...));
}

// Calls `work(row, row of x, place)` for each token, padding left out.
template <class Work>
void for_each_token(const Call& call, std::span<const Sequence> sequences, const Work& work) {
  for (const Sequence& sequence : sequences) {
    const std::int64_t first = call.padded_tokens > 0
                                   ? call.padded_row(sequence.number, sequence.new_keys)
                                   : sequence.first_angle;
    for (std::int64_t i = 0; i < sequence.new_keys; ++i) {
      work(sequence.first_angle + i, first + i, sequence.past + i);
    }
  }
}

}  // namespace

CallAngles::CallAngles(const Case& shape) : shape_(shape), rotary_(shape) {
  if (shape.rotary.has_sections() || shape.rotary.context > 0) make_room();
}

// A layer whose tokens have one position may never be given any.
void CallAngles::make_room() {
  if (angles_.size() > 0) return;
  angles_ = AlignedBuffer(shape_.rows() * rotary_.floats());
  if (shape_.rotary.context > 0) return;  // angles change with the length
  known_ = std::min(shape_.past + shape_.tokens, kMostKnown);
  table_ = AlignedBuffer(known_ * rotary_.floats());
  for (std::int64_t p = 0; p < known_; ++p) {
    rotary_.write({p, p, p}, table_.data() + p * rotary_.floats());
  }
}

void CallAngles::write(const TokenPosition& position, float* row) const {
  if (std::ranges::max(position) < known_) {
    rotary_.copy(table_.data(), position, row);
  } else {
    rotary_.write(position, row);
  }
}

TokenPosition CallAngles::position_of(const Call& call, std::int64_t rows, std::int64_t row,
                                      std::int64_t place) const {
  if (call.positions.empty()) return {place, place, place};
  const auto at = [&](std::int64_t i) { return call.positions[static_cast<std::size_t>(i)]; };
  if (static_cast<std::int64_t>(call.positions.size()) == rows) return {at(row), at(row), at(row)};
  return {at(row), at(rows + row), at(2 * rows + row)};
}

std::int64_t CallAngles::length_of(const Call& call, std::int64_t rows,
                                   std::span<const Sequence> sequences) const {
  std::int64_t length = call.context;
  for_each_token(call, sequences, [&](std::int64_t, std::int64_t row, std::int64_t place) {
    for (const std::int64_t position : position_of(call, rows, row, place)) {
      length = std::max(length, position + 1);
    }
  });
  return length;
}

void CallAngles::check(const Call& call, std::int64_t rows, std::span<const Sequence> sequences) {
  check_positions(call, rows, sequences);
  if (call.context < 0 || call.context > kMostPosition) {
    refuse_call("context is {}; allowed are 0 to 2^53", call.context);
  }
  if (shape_.rotary.context > 0) length_ = length_of(call, rows, sequences);
}

void CallAngles::check_positions(const Call& call, std::int64_t rows,
                                 std::span<const Sequence> sequences) {
  if (call.positions.empty()) return;
  if (rotary_.pairs() == 0) {
    refuse_call(
        "positions are given, and this layer turns nothing by them; leave them out, or make the "
        "layer with rotary positions");
  }
  const auto count = static_cast<std::int64_t>(call.positions.size());
  const bool three = shape_.rotary.has_sections();
  if (count != rows && !(three && count == 3 * rows)) {
    refuse_call("there are {} positions for {} rows of x; give one for each{}, padding included",
                count, rows, three ? ", or three" : "");
  }
  for_each_token(call, sequences, [&](std::int64_t, std::int64_t row, std::int64_t place) {
    for (const std::int64_t position : position_of(call, rows, row, place)) {
      if (position >= 0 && position <= kMostPosition) continue;
      refuse_call("a position of row {} is {}; allowed are 0 to 2^53", row, position);
    }
  });
  make_room();
}

const float* CallAngles::fill(const Call& call, std::int64_t rows,
                              std::span<const Sequence> sequences) {
  if (call.positions.empty() && !reaches_further()) return nullptr;
  if (shape_.rotary.context > 0) rotary_.reach(length_);
  for_each_token(call, sequences, [&](std::int64_t row, std::int64_t in_x, std::int64_t place) {
    write(position_of(call, rows, in_x, place), angles_.data() + row * rotary_.floats());
  });
  return angles_.data();
}

}  // namespace headroom
