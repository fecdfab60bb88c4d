// A cache as Python calls it, and what it shares with the object that it belongs to.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "headroom/attention.hpp"

namespace headroom::python {

namespace nb = nanobind;

/// An object of the library that runs one call at a time. Its caches keep it alive.
struct Owner {
  Owner() = default;
  virtual ~Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  std::mutex one_call;
};

/// Whoever waits for the owner lets the interpreter go first, or the two locks would wait for each
/// other.
class Turn {
 public:
  explicit Turn(Owner& owner) : turn_(owner.one_call) {}

 private:
  nb::gil_scoped_release unlocked_;
  std::lock_guard<std::mutex> turn_;
};

class Cache {
 public:
  /// @param cache made for the owner
  Cache(std::shared_ptr<Owner> owner, KeyValueCache&& cache)
      : owner_(std::move(owner)), cache_(std::move(cache)) {}

  std::int64_t sequences() const { return cache_.sequences(); }
  std::int64_t capacity() const { return cache_.capacity(); }
  std::int64_t bytes() const { return cache_.bytes(); }
  std::vector<std::int64_t> lengths() const;
  void truncate(std::int64_t sequence, std::int64_t length);
  void clear();
  /// @throws as `KeyValueCache::take`
  void take(Cache& from, const std::vector<std::int64_t>& sequences);

  /// For a call of a `Turn` with the owner.
  KeyValueCache* get() { return &cache_; }

 private:
  std::shared_ptr<Owner> owner_;
  KeyValueCache cache_;
};

}  // namespace headroom::python
