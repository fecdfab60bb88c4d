// Shares of measured limits, with a mark and a reason where they are above 100 %.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/result.hpp"

namespace headroom::show {

/// How a limit was measured.
enum class Limit {
  beside,    ///< multiply-adds and tiles, beside every sample
  once,      ///< multiply-adds, before the first cell
  products,  ///< of less than f32, before the first cell
  memory,    ///< by reading, before the first cell
};

/// The one that `peak_fraction` is a share of.
Limit arithmetic_limit(const record::CellResult& result);

/// Whether a share is above 100 % as it is shown, with so many digits after the point.
bool above_limit(double share, int digits = 0);

/// Why it may be, such as `"part of the data came from a nearer cache"`.
std::string_view why_above(Limit limit);

/// Beside a share above 100 %, and before its reason.
inline constexpr char kAboveMark = '^';

/// Remembers the limits that were passed, so that each reason is said once.
class Shares {
 public:
  /// Whether a share needs the mark.
  bool above(double share, Limit limit, int digits = 0);
  /// Such as `"97.3 %"`, or `"104.2 %^"`.
  std::string text(double share, Limit limit, int digits = 0);
  /// One for each limit that was passed, such as `"^ more than 100 %: ..."`.
  std::vector<std::string> reasons() const;

 private:
  std::set<Limit> passed_;
};

}  // namespace headroom::show
