// What a choice is made for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "headroom/attention.hpp"
#include "headroom/shape.hpp"

namespace headroom::tuning {

struct Request {
  Shape shape;
  int threads = 1;
  std::string isa;                         ///< the level that kernels will run with
  std::optional<Formulation> formulation;  ///< empty: any
  /// The backends that are here and take the shape, each with the threads that it will run with:
  /// `threads`, or 1 where it has no more.
  std::map<std::string, int> usable;
};

}  // namespace headroom::tuning
