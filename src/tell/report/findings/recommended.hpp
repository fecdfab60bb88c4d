// What to link for some shapes, by the rule of `pick`.
#pragma once

#include <string>
#include <vector>

#include "report/findings/findings.hpp"

namespace headroom::report {

/// Shapes that have a time.
using Shapes = std::vector<const ShapeFindings*>;

using judge::Sureness;

struct Recommended {
  std::string backend;
  std::vector<std::string> open;  ///< lighter to link, and perhaps as good
  Sureness sureness = Sureness::alone;

  /// The backend's cell to link for a shape: its fastest or, where there is no answer yet, the
  /// preferred one of its formulations. Null if it has no time for that shape.
  const Contest* cell_of(const ShapeFindings& shape) const;
};

/// @pre at least one shape
Recommended recommended(const Shapes& shapes);

}  // namespace headroom::report
