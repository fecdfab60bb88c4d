#include "attention/sequences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/error.hpp"

namespace headroom {
namespace {

// A call's sequences are kept in memory that the layer has made before. More than this only where
// the layer's own batch is larger.
constexpr std::int64_t kMostSequences = 65'536;
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 48;  // their sums are exact in double

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw InvalidArgument("forward: " + fmt::format(text, std::forward<Arguments>(arguments)...));
}

// Without lengths the rows are divided evenly.
void check_even(const char* name, std::int64_t rows, std::int64_t sequences) {
  if (rows < 0) refuse("{} has {} rows; allowed are 0 and above", name, rows);
  if (sequences > 0 ? rows % sequences == 0 : rows == 0) return;
  refuse("{} has {} rows for {} sequences of equal length; give a multiple, or the lengths", name,
         rows, sequences);
}

// @return the sum
std::int64_t check_lengths(const char* name, std::span<const std::int64_t> lengths,
                           std::int64_t most) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > most) {
      refuse(
          "{} {} is {}; allowed are 0 to {}, the most tokens of a sequence that this layer takes",
          name, i, lengths[i], most);
    }
    sum += lengths[i];  // cannot overflow: at most 2^16 lengths that the layer's shape allows
  }
  return sum;
}

}  // namespace

Sequences::Sequences(const Case& shape, const HeadsOf& heads_of)
    : shape_(shape), heads_of_(heads_of), most_(std::max(shape.batch, kMostSequences)) {
  if (heads_of_.all == 0) heads_of_.all = shape.heads;
  if (heads_of_.first < 0 || heads_of_.first > heads_of_.all - shape.heads) {
    throw InvalidArgument(
        fmt::format("heads_of: heads {} to {} of {}; this layer has {}, so the first is 0 to {}",
                    heads_of_.first, heads_of_.first + shape.heads - 1, heads_of_.all, shape.heads,
                    heads_of_.all - shape.heads));
  }
  const auto most = static_cast<std::size_t>(std::min(most_, shape.rows() + shape.memory_rows()));
  list_.reserve(most);
  if (shape.d_memory > 0) blind_.reserve(static_cast<std::size_t>(std::min(most_, shape.rows())));
}

void Sequences::check_count(const Call& call) const {
  if (count_ > most_) refuse("there are {} sequences; allowed are up to {}", count_, most_);
  const auto of_memory = static_cast<std::int64_t>(call.memory_lengths.size());
  if (of_memory != 0 && of_memory != count_) {
    refuse("there are {} memory_lengths for {} sequences; give one for each", of_memory, count_);
  }
  if (!call.places_before.empty() &&
      static_cast<std::int64_t>(call.places_before.size()) != count_) {
    refuse("there are {} places_before for {} sequences; give one for each",
           call.places_before.size(), count_);
  }
  for (const std::int64_t places : call.places_before) {
    if (places >= 0 && places <= kMostPlaces) continue;
    refuse("places_before has {}; allowed are 0 to {}", places, kMostPlaces);
  }
  if (call.padded_tokens < 0) {
    refuse("padded_tokens is {}; allowed are 0 and above", call.padded_tokens);
  }
  if (call.padded_before && call.padded_tokens == 0) {
    refuse("padded_before is set, and padded_tokens is 0; say how many rows a sequence has");
  }
}

std::int64_t Sequences::length(std::span<const std::int64_t> lengths, std::int64_t rows,
                               std::int64_t sequence) const {
  return lengths.empty() ? rows / count_ : lengths[static_cast<std::size_t>(sequence)];
}

void Sequences::add(const Sequence& sequence) {
  if (sequence.rows == 0 && sequence.new_keys == 0) return;
  (sequence.keys() == 0 ? blind_ : list_).push_back(sequence);
}

void Sequences::check_room(const CacheRoom& cache) const {
  for (const Sequence& sequence : list_) {
    if (sequence.keys() <= cache.capacity) continue;
    refuse(
        "the cache has room for {} more tokens of sequence {}, and {} came; truncate or clear "
        "it, or make one of a larger capacity",
        cache.capacity - sequence.past, sequence.number, sequence.new_keys);
  }
}

void Sequences::read_rows(const ConstAnyMatrix& x, const Call& call) {
  rows_ = x.rows;
  if (call.lengths.empty()) {
    check_even("x", x.rows, count_);
  } else {
    rows_ = check_lengths("length", call.lengths, shape_.tokens);
  }
  if (call.padded_tokens > 0) {
    const std::int64_t longest =
        call.lengths.empty() ? 0 : *std::max_element(call.lengths.begin(), call.lengths.end());
    const bool fits =
        count_ > 0 ? x.rows % count_ == 0 && x.rows / count_ == call.padded_tokens : x.rows == 0;
    if (!fits || longest > call.padded_tokens) {
      refuse(
          "x has {} rows, {} sequences of up to {} tokens; with padded_tokens {} it must have {} "
          "for each, and no length may be larger",
          x.rows, count_, longest, call.padded_tokens, call.padded_tokens);
    }
  } else if (rows_ != x.rows) {
    refuse("x has {} rows, and the lengths add up to {}; they must be equal", x.rows, rows_);
  }
  if (rows_ > shape_.rows() ||
      (call.lengths.empty() && count_ > 0 && rows_ / count_ > shape_.tokens)) {
    refuse("x is {} x {}; this layer takes up to {} x {}, and up to {} tokens of a sequence",
           x.rows, x.cols, shape_.rows(), shape_.d_in, shape_.tokens);
  }
}

void Sequences::read_memory(const Call& call) {
  memory_rows_ = call.memory.rows;
  if (call.memory_lengths.empty()) {
    check_even("memory", memory_rows_, count_);
  } else if (check_lengths("memory length", call.memory_lengths, shape_.memory_tokens) !=
             memory_rows_) {
    refuse("memory has {} rows, which is not the sum of memory_lengths", memory_rows_);
  }
  if (memory_rows_ > shape_.memory_rows() ||
      (call.memory_lengths.empty() && count_ > 0 && memory_rows_ / count_ > shape_.memory_tokens)) {
    refuse("memory has {} rows; this layer takes up to {}, and up to {} of a sequence",
           memory_rows_, shape_.memory_rows(), shape_.memory_tokens);
  }
}

void Sequences::cut(const Call& call, const CacheRoom* cache) {
  const bool cross = shape_.d_memory > 0;
  most_rows_ = call.padded_tokens;
  most_keys_ = 0;
  Sequence sequence;
  for (; sequence.number < count_; ++sequence.number) {
    sequence.rows = length(call.lengths, rows_, sequence.number);
    sequence.past =
        cache != nullptr ? cache->lengths[static_cast<std::size_t>(sequence.number)] : 0;
    sequence.position = cross ? 0 : sequence.past;
    sequence.new_keys =
        cross ? length(call.memory_lengths, memory_rows_, sequence.number) : sequence.rows;
    if (!cross) sequence.first_key = sequence.first_row;
    sequence.first_angle = sequence.first_row;
    most_rows_ = std::max(most_rows_, sequence.rows);
    const bool full = call.padded_tokens > 0 && !cross;
    most_keys_ =
        std::max(most_keys_, sequence.past + (full ? call.padded_tokens : sequence.new_keys));
    // With an output projection the padding comes in after it.
    const bool padded = call.padded_tokens > 0 && shape_.d_proj == 0;
    sequence.pattern_head = sequence.number * heads_of_.all + heads_of_.first;
    sequence.first_out =
        padded ? call.padded_row(sequence.number, sequence.rows) : sequence.first_row;
    if (!call.places_before.empty()) {
      sequence.places_before = call.places_before[static_cast<std::size_t>(sequence.number)];
    }
    add(sequence);
    sequence.first_row += sequence.rows;
    if (cross) sequence.first_key += sequence.new_keys;
  }
}

void Sequences::read(const ConstAnyMatrix& x, const Call& call, const CacheRoom* cache) {
  list_.clear();
  blind_.clear();
  count_ = cache != nullptr ? static_cast<std::int64_t>(cache->lengths.size()) : shape_.batch;
  if (!call.lengths.empty()) count_ = static_cast<std::int64_t>(call.lengths.size());
  if (cache != nullptr && count_ != static_cast<std::int64_t>(cache->lengths.size())) {
    refuse("there are {} lengths for a cache of {} sequences; give one for each", count_,
           cache->lengths.size());
  }
  check_count(call);
  read_rows(x, call);
  read_memory(call);
  cut(call, cache);
  if (cache != nullptr) check_room(*cache);
}

// What comes before a sequence's rows comes before its keys as well, if they are made of the rows.
MaskSizes Sequences::place_in_mask(const Call& call) {
  if (call.padded_before) {
    for (Sequence& sequence : list_) {
      sequence.mask_row = call.padded_tokens - sequence.rows;
      if (shape_.d_memory == 0) sequence.mask_key = most_keys_ - sequence.keys();
    }
  }
  return {count_, shape_.heads, most_rows_, most_keys_};
}

void Sequences::drop_rows() {
  for (Sequence& sequence : list_) sequence.rows = 0;
}

}  // namespace headroom
