// The layer that a choice is made for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/case.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/formulation.hpp"
#include "headroom/precision.hpp"

namespace headroom::tuning {

/// A backend that could compute the layer.
struct Usable {
  int threads = 1;                         ///< as requested, or 1 if the backend is not threaded
  int preference = 0;                      ///< see `BackendFacts`
  std::optional<double> threads_pay_from;  ///< FLOPs; see `BackendFacts`
  Precision precision = Precision::f32;    ///< what it would compute the layer with
  std::string unit = "none";               ///< and who would multiply
};

struct Request {
  Case shape;
  int threads = 1;
  std::string isa;                         ///< the level that kernels run with
  std::optional<Formulation> formulation;  ///< empty: any
  Numbers stored;  ///< what the layer stores; the precision is that of a backend
  /// The available backends that support the shape, by name.
  std::map<std::string, Usable> usable;
};

}  // namespace headroom::tuning
