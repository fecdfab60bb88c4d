// The sequences of a call: checked, and cut into rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/mask_views.hpp"
#include "core/call/attend_call.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// A cache as a call sees it.
struct CacheRoom {
  std::span<const std::int64_t> lengths;  ///< of each sequence
  std::int64_t capacity = 0;
};

/// Reads calls without allocating.
class Sequences {
 public:
  /// @param shape the layer, and the largest call; @param heads_of where its heads stand in a
  /// larger
  ///        layer
  Sequences(const Case& shape, const HeadsOf& heads_of);

  /// @param cache null without one
  /// @throws InvalidArgument if the call's lengths fit neither its views nor the layer or its cache
  void read(const ConstAnyMatrix& x, const Call& call, const CacheRoom* cache);

  /// Finds the sequences' first rows and keys in a mask. @return the sizes that it must have
  MaskSizes place_in_mask(const Call& call);

  /// Leaves their new keys, and takes away the rows that would look at them.
  void drop_rows();

  /// Those with rows or new keys. One that has rows but no keys at all is not among them.
  std::span<const Sequence> list() const { return list_; }
  /// Rows of all sequences without padding.
  std::int64_t rows() const { return rows_; }
  /// Rows of the second input.
  std::int64_t memory_rows() const { return memory_rows_; }
  /// The sequences with rows and no keys, whose result is zero.
  std::span<const Sequence> blind() const { return blind_; }

 private:
  void check_count(const Call& call) const;
  std::int64_t length(std::span<const std::int64_t> lengths, std::int64_t rows,
                      std::int64_t sequence) const;
  void read_rows(const ConstAnyMatrix& x, const Call& call);
  void read_memory(const Call& call);
  void cut(const Call& call, const CacheRoom* cache);
  void add(const Sequence& sequence);
  void check_room(const CacheRoom& cache) const;

  const Case& shape_;
  HeadsOf heads_of_;
  std::int64_t most_;  ///< sequences
  std::int64_t count_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t memory_rows_ = 0;
  std::int64_t most_rows_ = 0, most_keys_ = 0;  ///< of a sequence, where a padded one is full
  std::vector<Sequence> list_;
  std::vector<Sequence> blind_;
};

}  // namespace headroom
