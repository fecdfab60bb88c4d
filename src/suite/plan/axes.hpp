// The axes of a sweep as given on the command line, the same for every command.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace headroom::plan {

/// Text as typed. An axis that was not given is empty; `expand` gives it its default.
struct Axes {
  std::optional<std::string> heads, tokens, batch, d_model, head_dim, d_in, threads;
  std::optional<std::string> kv_heads, window, past, lengths, rotary;
  std::optional<std::string> ranks, backend, formulation, isa, unit, dropout, model, preset;
  std::optional<std::string> precision, dtype;
  bool no_causal = false;
  bool qkv_bias = false;
  bool no_out_proj = false;
  /// A file of weights, and what it does not say of its layer; see `find_user_weights`.
  std::optional<std::string> weights, layer, stored;
  std::vector<std::string> tensors;
  bool causal = false;
  bool strict = false;

  /// Whether any axis that sets a size was given.
  bool sizes_given() const {
    return heads || tokens || batch || d_model || head_dim || d_in || model || kv_heads || window ||
           past || lengths || weights;
  }
};

/// Adds `--weights` and what it needs to be told of the layer.
void add_weights_options(CLI::App& app, Axes& axes);

/// Adds all axes to a command, those of weights among them.
void add_axes_options(CLI::App& app, Axes& axes);

}  // namespace headroom::plan
