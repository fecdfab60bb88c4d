// The shapes of a plan, each once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "headroom/shape.hpp"

namespace headroom::plan {

/// Collects shapes in order and drops those that are there already.
class ShapeSet {
 public:
  /// @param most shapes
  explicit ShapeSet(std::size_t most) : most_(most) {}

  /// @throws InvalidArgument for an invalid shape, or one too many.
  void add(const Shape& shape);

  const std::vector<Shape>& shapes() const { return shapes_; }
  std::size_t repeated() const { return repeated_; }

 private:
  // The numbers that differ between the shapes of one plan. Making an id for each of ten million
  // repetitions would take many seconds.
  using Key = std::array<std::int64_t, 10>;
  static Key key_of(const Shape& shape);

  std::size_t most_;
  std::size_t added_ = 0;
  std::set<Key> seen_;
  std::vector<Shape> shapes_;
  std::size_t repeated_ = 0;
};

}  // namespace headroom::plan
