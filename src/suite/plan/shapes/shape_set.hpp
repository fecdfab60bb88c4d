// The shapes of a plan, each once.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "core/case.hpp"

namespace headroom::plan {

/// Collects shapes in order and drops those that are there already.
class ShapeSet {
 public:
  /// @param most shapes
  explicit ShapeSet(std::size_t most) : most_(most) {}

  /// @throws InvalidArgument for an invalid shape, or one too many.
  void add(const Case& shape);

  const std::vector<Case>& shapes() const { return shapes_; }
  std::size_t repeated() const { return repeated_; }

 private:
  bool has(const Case& shape, std::size_t hash) const;

  std::size_t most_;
  std::size_t added_ = 0;
  std::unordered_multimap<std::size_t, std::size_t> seen_;  // hash of a shape, its index
  std::vector<Case> shapes_;
  std::size_t repeated_ = 0;
};

}  // namespace headroom::plan
