// What a choice is made for.
#pragma once

#include <functional>
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
  /// Whether a backend is here and takes the shape.
  std::function<bool(const std::string& backend)> usable;
  bool any_threaded = true;  ///< whether one of the usable backends runs on several threads
};

}  // namespace headroom::tuning
