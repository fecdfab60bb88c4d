// The call of attention alone, every time after the same past.
#pragma once

#include <cstdint>
#include <optional>

#include "core/case.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/attention.hpp"
#include "headroom/dot_product.hpp"

namespace headroom::measure {

/// Queries over keys and values that lie as `key_heads` has them. Where a cache stores them as
/// something else than they are given, the past is brought into one beforehand: rounding it would
/// be most of a step's time, and a cache has it rounded. A call then forgets what the one before
/// it appended, appends its own tokens, and attends to all.
class HeadsAfterPast {
 public:
  /// @param attention refers to it. @throws Unsupported if the cache cannot be cut to the past.
  HeadsAfterPast(DotProductAttention& attention, const Case& shape, const Numbers& numbers);

  /// Before the first call. @param keys, values those of the past first, then those of the call
  template <class T>
  void fill(const T* keys, const T* values);

  /// @param keys, values as they were for `fill`
  template <class T>
  void run(const T* x, T* y, const T* keys, const T* values);

  /// Of the cache; nothing if keys and values are read where they lie.
  std::optional<std::int64_t> bytes() const;

 private:
  DotProductAttention& attention_;
  Case shape_;
  bool keeps_;
  std::optional<KeyValueCache> cache_;
};

}  // namespace headroom::measure
