// What happens to queries and keys between their projection and their scores: norms, and the turn
// by rotary positions.
#pragma once

#include <cstdint>

#include "core/aligned_buffer.hpp"
#include "core/call/attend_call.hpp"
#include "core/call/rotary_angles.hpp"
#include "core/call/row_norm.hpp"
#include "core/case.hpp"
#include "core/head_view.hpp"
#include "headroom/export.h"

namespace headroom {

using NormaliseRows = void(const NormRows& rows);
/// As every level does it, compiled for none.
HEADROOM_API void normalise_rows(const NormRows& rows);

/// Prepares heads in place, some rows at a time while they are in the L1. The same loops serve
/// every backend; those of norms are compiled for each level as well. Cosines and sines of every
/// place up to a capacity are computed once; those of positions that a call gives come with it.
class HEADROOM_API HeadPreparation {
 public:
  HeadPreparation() = default;
  HeadPreparation(const LayerConfig& config, std::int64_t positions,
                  NormaliseRows* kernel = normalise_rows);

  /// Whether there is nothing to do.
  bool empty() const {
    return !turns() && norm_.over == QueryKeyNorm::Over::none && temperature_.step == 0;
  }
  /// The new keys of a key head.
  void keys(const AttendCall& call, const Sequence& sequence, std::int64_t key_head) const;
  /// The queries of a head.
  void queries(const AttendCall& call, const Sequence& sequence, std::int64_t head) const;
  std::int64_t bytes() const { return angles_.bytes(); }

 private:
  /// Some rows of one block.
  struct Rows {
    float* first;
    std::int64_t stride;
    std::int64_t count;
    std::int64_t position;
    const float* weights;  ///< of the norm, or null
    const float* factors;  ///< of its rows, or null
    const float* angles;   ///< of its rows, or of the first position
    bool queries;
    std::int64_t places_before;  ///< of padding
  };

  bool turns() const { return pairs_ != Rotary::Pairs::none; }
  void prepare(const Rows& rows) const;
  void normalise(const Rows& rows) const;
  void turn(float* row, const float* cosines) const;
  const float* angles_of(const AttendCall& call, const Sequence& sequence,
                         std::int64_t position) const;
  void warm(const Rows& rows) const;

  NormaliseRows* normalise_ = normalise_rows;
  Rotary::Pairs pairs_ = Rotary::Pairs::none;
  QueryKeyNorm norm_;
  Temperature temperature_;
  std::int64_t head_dim_ = 0;
  RotaryAngles rotary_;
  AlignedBuffer angles_;  ///< of each place: what `rotary_` writes
};

/// The order of the sum is a function of `count` alone.
HEADROOM_API double sum_of_squares(const float* x, std::int64_t count);

/// `1 / sqrt(squares / count + epsilon)`.
HEADROOM_API float inverse_rms(double squares, std::int64_t count, double epsilon);

}  // namespace headroom
