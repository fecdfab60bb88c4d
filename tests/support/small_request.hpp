// The smallest sweep that measures something.
#pragma once

#include "measure/sweep.hpp"

namespace headroom::test {

inline measure::SweepRequest small_request(machine::LimitKernelsOf limits_of) {
  measure::SweepRequest request;
  request.axes.backend = "naive";
  request.axes.formulation = "split";
  request.axes.heads = "2";
  request.axes.head_dim = "4";
  request.axes.tokens = "3";
  request.limits_of = limits_of;
  return request;
}

}  // namespace headroom::test
