// Why a share of a limit may be above 100 %, for the label of a row.
#pragma once

#include <string>

namespace headroom::bench {

/// Of the limits measured beside a row; 0 of what was not.
struct RowShares {
  double peak = 0;     ///< of multiply-adds of f32
  double tile = 0;     ///< of register tiles
  double read = 0;     ///< of the bandwidth
  bool parts = false;  ///< the row multiplies parts of bfloat16 or fp16, not f32
};

/// Such as `peak_share above 1: ...`; empty if none is above 1, as three digits show it.
inline std::string why_above(const RowShares& shares) {
  constexpr double kShown = 1.0005;
  std::string why;
  const auto add = [&why](const char* reason) {
    why += (why.empty() ? "" : "; ") + std::string(reason);
  };
  if (shares.peak >= kShown) {
    add(shares.parts
            ? "peak_share above 1: it counts f32 multiply-adds, and a unit multiplies parts"
            : "peak_share above 1: the multiply-adds beside the row were slowed more");
  }
  if (shares.tile >= kShown) add("tile_share above 1: the tiles beside the row were slowed more");
  if (shares.read >= kShown) {
    add("read_share above 1: part of the data came from a nearer cache, or the reading beside the "
        "row was slowed more");
  }
  return why;
}

}  // namespace headroom::bench
