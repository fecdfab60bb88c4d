#include "cache.hpp"

#include <algorithm>

namespace headroom::python {

std::vector<std::int64_t> Cache::lengths() const {
  const Turn turn(*owner_);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(cache_.sequences()));
  std::int64_t sequence = 0;
  std::generate(lengths.begin(), lengths.end(), [&] { return cache_.length(sequence++); });
  return lengths;
}

void Cache::truncate(std::int64_t sequence, std::int64_t length) {
  const Turn turn(*owner_);
  cache_.truncate({sequence, length});
}

void Cache::take(Cache& from, const std::vector<std::int64_t>& sequences) {
  // Both are of one owner, or it is refused before the other is looked at.
  const Turn turn(*owner_);
  cache_.take(from.cache_, sequences);
}

void Cache::clear() {
  const Turn turn(*owner_);
  cache_.clear();
}

}  // namespace headroom::python
