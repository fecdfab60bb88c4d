// Positions that a call gives. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <span>

#include "attention/sequences.hpp"
#include "core/aligned_buffer.hpp"
#include "core/call/rotary_angles.hpp"
#include "core/case.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// The angles of a call's rows, where the layer's own, of places, are not what it asks for.
class CallAngles {
 public:
  /// @param shape the layer, and the largest call; must outlive this
  explicit CallAngles(const Case& shape);

  /// Before anything is computed. @param rows of x, padding included
  /// @throws InvalidArgument if the call's positions are not such as the layer takes
  void check(const Call& call, std::int64_t rows, std::span<const Sequence> sequences);
  /// Of the call that was checked: whether it turns by `long_divisors`, and not by the others.
  bool turns_long() const { return !shape_.rotary.long_divisors.empty() && reaches_further(); }
  /// @return those of all rows without padding; null if they are those of places
  const float* fill(const Call& call, std::int64_t rows, std::span<const Sequence> sequences);
  std::int64_t bytes() const { return angles_.bytes() + table_.bytes(); }

 private:
  void check_positions(const Call& call, std::int64_t rows, std::span<const Sequence> sequences);
  TokenPosition position_of(const Call& call, std::int64_t rows, std::int64_t row,
                            std::int64_t place) const;
  std::int64_t length_of(const Call& call, std::int64_t rows,
                         std::span<const Sequence> sequences) const;
  bool reaches_further() const {
    return shape_.rotary.context > 0 && length_ > shape_.rotary.context;
  }
  void make_room();
  void write(const TokenPosition& position, float* row) const;

  const Case& shape_;
  RotaryAngles rotary_;
  AlignedBuffer angles_;     ///< of as many rows as a call may have
  AlignedBuffer table_;      ///< of the first positions, as a cosine costs as much as many products
  std::int64_t known_ = 0;   ///< how many
  std::int64_t length_ = 0;  ///< to which the call reaches
};

}  // namespace headroom
