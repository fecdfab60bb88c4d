// What the ranks of a machine have computed, put together row by row.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom::distributed {

/// Some columns of each row.
struct Columns {
  const float* data = nullptr;  ///< of row 0
  std::int64_t stride = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Adds up the contributions of one machine's ranks in their order, or, if no two of them write to
/// one column, puts them side by side.
class RowSum {
 public:
  explicit RowSum(std::int64_t width) : width_(width) {}

  void clear() { parts_.clear(); }
  void add(const Columns& part) { parts_.push_back(part); }
  void reserve(std::size_t parts) { parts_.reserve(parts); }
  std::size_t parts() const { return parts_.size(); }

  /// Writes row `row`; columns that nobody contributes become zero.
  void write(std::int64_t row, float* out) const;

 private:
  std::int64_t width_;
  std::vector<Columns> parts_;
};

}  // namespace headroom::distributed
