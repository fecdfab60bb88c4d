#include <algorithm>

#include "core/call/cache_lengths.hpp"
#include "distributed/rank_plan.hpp"

namespace headroom {

std::int64_t& DistributedCache::State::length(std::int64_t sequence) {
  return length_of(lengths, sequence);
}

void DistributedCache::State::grow(const Case& shape, std::int64_t rows, const Call& call) {
  const bool cross = shape.d_memory > 0;
  const std::int64_t all = cross ? call.memory.rows : rows;
  const std::span<const std::int64_t> each = cross ? call.memory_lengths : call.lengths;
  const auto sequences = static_cast<std::int64_t>(lengths.size());
  for (std::int64_t i = 0; i < sequences; ++i) {
    const auto place = static_cast<std::size_t>(i);
    lengths[place] += each.empty() ? all / sequences : each[place];
  }
}

void DistributedCache::State::roll_back() {
  if (!own) return;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto sequence = static_cast<std::int64_t>(i);
    own->truncate({sequence, std::min(lengths[i], own->length(sequence))});
  }
}

DistributedCache::DistributedCache(DistributedAttention& layer, const CacheSize& size)
    : state_(layer.plan_->make_cache(size)) {}
DistributedCache::~DistributedCache() = default;
DistributedCache::DistributedCache(DistributedCache&&) noexcept = default;
DistributedCache& DistributedCache::operator=(DistributedCache&&) noexcept = default;

std::int64_t DistributedCache::sequences() const {
  return static_cast<std::int64_t>(state_->lengths.size());
}
std::int64_t DistributedCache::capacity() const { return state_->capacity; }
std::int64_t DistributedCache::length(std::int64_t sequence) const {
  return state_->length(sequence);
}

void DistributedCache::truncate(const CacheCut& to) {
  std::int64_t& present = state_->length(to.sequence);
  check_truncation(to.sequence, present, to.length);
  if (state_->own) state_->own->truncate(to);
  present = to.length;
}

void DistributedCache::clear() {
  if (state_->own) state_->own->clear();
  std::fill(state_->lengths.begin(), state_->lengths.end(), 0);
}

std::int64_t DistributedCache::bytes() const { return state_->own ? state_->own->bytes() : 0; }

}  // namespace headroom
