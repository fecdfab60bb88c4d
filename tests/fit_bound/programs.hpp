// Random layers that the element bound is fitted on: every option, and data that make rounding
// errors large.
#pragma once

#include <cstdint>
#include <string>

#include "support/layer_data.hpp"

namespace headroom::test {

struct Program {
  std::string data;  ///< how the values were made, such as `30-fold`
  Layer layer;
};

/// A pure function of the number; equal sequences from their start.
Program drawn_program(std::uint64_t number);

/// The same with everything that a call may bring.
Program random_call(std::uint64_t number);

}  // namespace headroom::test
