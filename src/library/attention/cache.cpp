// The public face of the keys and values that a backend keeps between calls.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "attention/plan.hpp"
#include "core/call/cache_lengths.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

void check_sizes(const LayerConfig& config, std::int64_t sequences, std::int64_t capacity) {
  if (sequences < 1 || capacity < 1) {
    throw InvalidArgument(fmt::format(
        "cache: {} sequences of {} tokens; allowed are 1 and above of both", sequences, capacity));
  }
  // Of keys and values, with whole vectors and some room for what calls need beside them.
  constexpr std::int64_t kBytesPerValue = 64;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(sequences, capacity, &bytes) ||
      __builtin_mul_overflow(bytes, config.kv_width(), &bytes) ||
      __builtin_mul_overflow(bytes, kBytesPerValue, &bytes)) {
    throw InvalidArgument(
        fmt::format("cache: {} sequences of {} tokens of {} values are too many to be counted in "
                    "63-bit bytes; make one of them smaller",
                    sequences, capacity, config.kv_width()));
  }
}

}  // namespace

std::int64_t& KeyValueCache::State::length(std::int64_t sequence) {
  return length_of(lengths, sequence);
}

KeyValueCache::KeyValueCache(const Attention& layer, const CacheSize& size)
    : state_(std::make_unique<State>()) {
  check_sizes(layer.config(), size.sequences, size.capacity);
  state_->layer = layer.plan_->id;
  state_->capacity = size.capacity;
  state_->lengths.resize(static_cast<std::size_t>(size.sequences));
  state_->store = layer.plan_->make_store(size.sequences, size.capacity);
}
KeyValueCache::~KeyValueCache() = default;
KeyValueCache::KeyValueCache(KeyValueCache&&) noexcept = default;
KeyValueCache& KeyValueCache::operator=(KeyValueCache&&) noexcept = default;

std::int64_t KeyValueCache::sequences() const {
  return static_cast<std::int64_t>(state_->lengths.size());
}
std::int64_t KeyValueCache::capacity() const { return state_->capacity; }
std::int64_t KeyValueCache::length(std::int64_t sequence) const { return state_->length(sequence); }

void KeyValueCache::truncate(const CacheCut& to) {
  std::int64_t& present = state_->length(to.sequence);
  check_truncation(to.sequence, present, to.length);
  present = to.length;
}

void KeyValueCache::clear() { std::fill(state_->lengths.begin(), state_->lengths.end(), 0); }

std::int64_t KeyValueCache::bytes() const { return state_->store->bytes(); }

}  // namespace headroom
