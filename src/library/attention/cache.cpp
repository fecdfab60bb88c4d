// The public face of the keys and values that a backend keeps between calls.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "attention/dot_product_plan.hpp"
#include "attention/expected_bytes.hpp"
#include "attention/key_value_state.hpp"
#include "attention/plan/plan.hpp"
#include "core/arena.hpp"
#include "core/call/cache_lengths.hpp"
#include "core/element/numbers_of.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

void check_sizes(const LayerConfig& config, const CacheSize& size) {
  if (size.sequences < 1 || size.capacity < 1) {
    throw InvalidArgument(
        fmt::format("cache: {} sequences of {} tokens; allowed are 1 and above of both",
                    size.sequences, size.capacity));
  }
  // Of keys and values, with whole vectors and some room for what calls need beside them.
  constexpr std::int64_t kBytesPerValue = 64;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(size.sequences, size.capacity, &bytes) ||
      __builtin_mul_overflow(bytes, config.cached_width(), &bytes) ||
      __builtin_mul_overflow(bytes, kBytesPerValue, &bytes)) {
    throw InvalidArgument(
        fmt::format("cache: {} sequences of {} tokens of {} values are too many to be counted in "
                    "63-bit bytes; make one of them smaller",
                    size.sequences, size.capacity, config.cached_width()));
  }
}

}  // namespace

std::uint64_t next_cache_owner() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::unique_ptr<KeyValueStore> make_store(HeadAttention& attend, const Case& shape,
                                          const CacheSize& size) {
  check_sizes(shape, size);
  const ArenaScope arena(expected_cache_bytes(shape, size.sequences, size.capacity));
  return attend.make_store(size.sequences, size.capacity);
}

std::int64_t& KeyValueCache::State::length(std::int64_t sequence) {
  return length_of(lengths, sequence);
}

KeyValueCache::State::State(std::uint64_t of, Storage storage, const CacheSize& size,
                            std::unique_ptr<KeyValueStore> made)
    : owner(of),
      stored(storage),
      capacity(size.capacity),
      lengths(static_cast<std::size_t>(size.sequences)),
      turned_long(lengths.size()),
      store(std::move(made)) {}

KeyValueCache::KeyValueCache(const Attention& layer, const CacheSize& size)
    : state_(std::make_unique<State>(layer.plan_->id, numbers_of(layer.options()).stored_cache(),
                                     size, layer.plan_->make_store(size))) {}
KeyValueCache::KeyValueCache(const DotProductAttention& attention, const CacheSize& size)
    : state_(std::make_unique<State>(attention.plan_->id, attention.plan_->stored, size,
                                     attention.plan_->make_store(size))) {}
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
  if (state_->stored == Storage::q8) {
    check_rounded_truncation(to.sequence, present, to.length);
  } else {
    check_truncation(to.sequence, present, to.length);
  }
  present = to.length;
}

void KeyValueCache::take(const KeyValueCache& from, std::span<const std::int64_t> sequences) {
  if (&from == this || from.state_->owner != state_->owner) {
    throw InvalidArgument(
        "cache: it can only take tokens of another cache of the same layer; make both with it");
  }
  if (sequences.size() != state_->lengths.size()) {
    throw InvalidArgument(fmt::format("cache: {} sequences are named for one of {}; name as many",
                                      sequences.size(), state_->lengths.size()));
  }
  for (const std::int64_t sequence : sequences) {
    if (from.length(sequence) > capacity()) {
      throw InvalidArgument(
          fmt::format("cache: sequence {} has {} tokens and there is room for {}; make the cache "
                      "for more",
                      sequence, from.length(sequence), capacity()));
    }
  }
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::int64_t length = from.length(sequences[i]);
    state_->store->copy(static_cast<std::int64_t>(i), *from.state_->store, sequences[i], length);
    state_->lengths[i] = length;
    state_->turned_long[i] = from.state_->turned_long[static_cast<std::size_t>(sequences[i])];
  }
}

void KeyValueCache::clear() { std::fill(state_->lengths.begin(), state_->lengths.end(), 0); }

std::int64_t KeyValueCache::bytes() const { return state_->store->bytes(); }

}  // namespace headroom
