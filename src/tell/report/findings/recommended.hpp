// What to link for some shapes, by the rule of `pick`.
#pragma once

#include <string>
#include <vector>

#include "report/findings/findings.hpp"

namespace headroom::report {

/// Shapes that have a time.
using Shapes = std::vector<const ShapeFindings*>;

struct Recommended {
  std::string backend;
  std::vector<std::string> open;  ///< lighter to link, and perhaps as good
};

/// @pre at least one shape
Recommended recommended(const Shapes& shapes);

/// How sure it is that nothing measured is better.
enum class Sureness {
  alone,  ///< no other backend has a time
  clear,  ///< every other backend is slower by more than the noise
  tie,  ///< what is as fast as far as the samples tell is so within the margin: little can be lost
  unknown,  ///< another may be faster by more than that
};

/// Of the backend that is recommended for this shape alone.
Sureness sureness_of(const ShapeFindings& shape, const std::string& backend);

}  // namespace headroom::report
