// The axes of a sweep, each described once: name, help, what its text means, where it is recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/formulation.hpp"
#include "headroom/isa.hpp"
#include "headroom/load_weights.hpp"
#include "headroom/precision.hpp"
#include "headroom/storage.hpp"
#include "headroom/unit.hpp"
#include "plan/axis.hpp"
#include "plan/shapes/models.hpp"
#include "plan/shapes/op.hpp"

namespace headroom::plan {

/// A backend by name, or `auto`.
struct BackendChoice {
  std::string name;
  bool threaded = false;
  bool uses_isa = false;

  auto operator<=>(const BackendChoice&) const = default;
};
std::vector<BackendChoice> every_backend();

/// An axis that was not given has no values; `expand` gives it its default.
struct Axes {
  Axes();

  Axis<Op> op;
  Axis<std::int64_t> heads, tokens, batch, d_model, head_dim, d_in, kv_heads, window, past;
  Axis<std::vector<std::int64_t>> lengths;
  Axis<Rotary::Pairs> rotary;
  Axis<QueryKeyNorm::Over> qk_norm;
  Axis<double> scale, softcap;
  Axis<std::int64_t> outliers;
  Axis<int> threads, ranks;
  Axis<BackendChoice> backend;
  Axis<Formulation> formulation;
  Axis<std::optional<Precision>> precision;  ///< empty: all that is as exact as f32
  Axis<Dtype> dtype;
  Axis<Storage> weights_dtype;
  Axis<Storage> cache_dtype;
  Axis<Isa> isa;
  Axis<Unit> unit;
  Axis<double> dropout;
  Axis<ShapeSeed> model, preset;
  Axis<std::string> weights, config, layer, family;
  Axis<std::pair<std::string, std::string>> tensor;
  Axis<Stored> stored;
  AxisFlag causal, strict, no_causal, qkv_bias, no_out_proj, sinks;

  /// Calls `visit` with every axis of `axes`, in the order of `--help`.
  template <class Self, class Visit>
  static void each(Self& axes, Visit visit) {
    const auto all = [&](auto&... axis) { (visit(axis), ...); };
    all(axes.op, axes.heads, axes.tokens, axes.batch, axes.d_model, axes.head_dim, axes.d_in,
        axes.kv_heads, axes.window, axes.past, axes.lengths, axes.rotary, axes.qk_norm, axes.scale,
        axes.softcap, axes.sinks, axes.outliers, axes.threads, axes.ranks, axes.backend,
        axes.formulation, axes.precision, axes.dtype, axes.weights_dtype, axes.cache_dtype,
        axes.isa, axes.unit, axes.dropout, axes.model, axes.preset, axes.weights, axes.config,
        axes.layer, axes.family, axes.stored, axes.tensor, axes.causal, axes.strict, axes.no_causal,
        axes.qkv_bias, axes.no_out_proj);
  }

  /// Whether any axis that sets a size was given.
  bool sizes_given() const;

  /// Whether neither a size nor another preset than `quick`, the default, was given.
  bool only_quick() const;

  /// A line for each axis whose values were given more than once.
  std::vector<std::string> notes() const;
};

}  // namespace headroom::plan
