// Random layers that the element bound is fitted on: every option, and data that make rounding
// errors large.
#pragma once

#include <cstdint>
#include <string>

#include "headroom/shape.hpp"
#include "headroom/weights.hpp"

namespace headroom::test {

struct Program {
  std::string data;  ///< how the values were made, such as `30-fold`
  Shape shape;
  SplitWeights weights;
  Matrix x;
};

/// A pure function of the number.
Program random_program(std::uint64_t number);

}  // namespace headroom::test
