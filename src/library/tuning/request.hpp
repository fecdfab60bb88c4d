// The layer that a choice is made for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/formulation.hpp"
#include "headroom/precision.hpp"

namespace headroom::tuning {

/// What a backend could compute the layer with.
struct Computed {
  Precision precision = Precision::f32;
  std::string unit = "none";  ///< who would multiply
  /// Without measurements: from so many rows of a call on it is faster than f32; empty if never.
  std::optional<std::int64_t> pays_from_rows = std::nullopt;
};

/// A backend that could compute the layer.
struct Usable {
  int threads = 1;                         ///< as requested, or 1 if the backend is not threaded
  int preference = 0;                      ///< see `BackendFacts`
  std::optional<double> threads_pay_from;  ///< FLOPs; see `BackendFacts`
  /// One if the layer's precision was asked for, else f32 first, then what may be faster. Never
  /// empty.
  std::vector<Computed> computed = {{}};
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
