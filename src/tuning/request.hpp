// What a choice is made for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "headroom/formulation.hpp"
#include "headroom/shape.hpp"

namespace headroom::tuning {

/// A backend that could compute the layer.
struct Usable {
  int threads = 1;     ///< that it will run with: those of the request, or 1 where it has no more
  int preference = 0;  ///< see `BackendFacts`
  std::optional<double> threads_pay_from;  ///< likewise, FLOPs
};

struct Request {
  Shape shape;
  int threads = 1;
  std::string isa;                         ///< the level that kernels will run with
  std::optional<Formulation> formulation;  ///< empty: any
  /// The backends that are here and take the shape, by name.
  std::map<std::string, Usable> usable;
};

}  // namespace headroom::tuning
