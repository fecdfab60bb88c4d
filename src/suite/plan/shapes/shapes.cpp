// The axes that set sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "headroom/error.hpp"
#include "plan/expand.hpp"
#include "plan/shapes/config_shape.hpp"
#include "plan/shapes/models.hpp"
#include "plan/shapes/outliers.hpp"
#include "plan/shapes/shape_set.hpp"
#include "plan/user_weights.hpp"

namespace headroom::plan {
namespace {

constexpr std::int64_t kDefaultHeadDim = 64;

std::vector<ShapeSeed> seeds_of(const Axes& axes) {
  if (axes.config && (axes.model || axes.preset)) {
    throw InvalidArgument("--config: it says which layer is meant; leave out --model and --preset");
  }
  if (axes.model) {
    std::vector<ShapeSeed> seeds = axes.model.values();
    if (!axes.preset) return seeds;
    for (ShapeSeed& seed : seeds) seed.tokens = axes.preset.values().front().tokens;
    return seeds;
  }
  if (axes.config) return {config_shape(axes.config.text(), axes.layer.text(), axes.family.text())};
  if (axes.preset) return axes.preset.values();
  if (!axes.sizes_given()) return preset_shapes("quick");
  return {{768, 12, kDefaultHeadDim, false, {kDefaultTokens}}};
}

Rotary rotary_of(const Axes& axes, const ShapeSeed& seed) {
  Rotary rotary = seed.rules.rotary;
  if (!axes.rotary) return rotary;
  rotary.pairs = *axes.rotary.first();
  // Without pairs nothing turns, whatever the base.
  return rotary.pairs == Rotary::Pairs::none ? Rotary{} : rotary;
}

QueryKeyNorm norm_of(const Axes& axes, const ShapeSeed& seed) {
  QueryKeyNorm norm = seed.rules.norm;
  if (axes.qk_norm) norm.over = *axes.qk_norm.first();
  return norm.over == QueryKeyNorm::Over::none ? QueryKeyNorm{} : norm;
}

// The rules of the seed where an axis or the sizes say something else.
void set_rules(const Axes& axes, const ShapeSeed& seed, Case& shape) {
  shape.causal = seed.rules.causal && !axes.no_causal;
  shape.qkv_bias = axes.qkv_bias || seed.rules.qkv_bias;
  shape.rotary = rotary_of(axes, seed);
  if (shape.head_dim() != seed.head_dim) {  // another width has other pairs
    shape.rotary = {shape.rotary.pairs, shape.rotary.base, shape.rotary.scale};
  }
  shape.norm = norm_of(axes, seed);
  shape.scale = axes.scale.first().value_or(seed.rules.scale);
  shape.softcap = axes.softcap.first().value_or(seed.rules.softcap);
  shape.sinks = axes.sinks || seed.rules.sinks;
  shape.gate = seed.rules.gate && shape.d_proj > 0;
  if (!shape.causal || axes.window) shape.chunk = 0;
}

// One value of every axis that sets a width; 0 stands for "not given".
struct Widths {
  std::int64_t heads = 0;
  std::int64_t d_model = 0;
  std::int64_t head_dim = 0;
  std::int64_t d_in = 0;
};

Case make_shape(const ShapeSeed& seed, const Widths& given, const Axes& axes) {
  Case shape{seed.rules, {}, {}};
  shape.heads = given.heads > 0 ? given.heads : seed.heads;
  const bool seed_width = given.heads == 0 || seed.keeps_width;
  const std::int64_t head_dim = given.head_dim > 0 ? given.head_dim : seed.head_dim;
  std::int64_t width = seed.heads * seed.head_dim;
  if (given.head_dim > 0 || !seed_width) {
    if (__builtin_mul_overflow(shape.heads, head_dim, &width)) {
      throw InvalidArgument(
          fmt::format("--heads {} times --head-dim {} does not fit in 63 bits; "
                      "make one of them smaller",
                      shape.heads, head_dim));
    }
  }
  const bool as_model = given.d_model == 0 && given.head_dim == 0 && seed_width;
  shape.d_out = given.d_model > 0 ? given.d_model : width;
  shape.d_in = given.d_in > 0 ? given.d_in : (as_model ? seed.d_model : shape.d_out);
  // The projection maps back to the width of the input, so that the result can be added to it.
  shape.d_proj = axes.no_out_proj ? 0 : shape.d_in;
  set_rules(axes, seed, shape);
  return shape;
}

// Not a list: a few words on the command line give billions, which `ShapeSet` will refuse.
template <class Take>
void for_each_widths(const Axes& axes, Take take) {
  const std::vector<std::int64_t> head_dims = axes.head_dim.values_or({0});
  const std::vector<std::int64_t> d_ins = axes.d_in.values_or({0});
  for (const std::int64_t h : axes.heads.values_or({0})) {
    for (const std::int64_t m : axes.d_model.values_or({0})) {
      for (const std::int64_t d : head_dims) {
        for (const std::int64_t i : d_ins) take(Widths{h, m, d, i});
      }
    }
  }
}

// Of other heads than the seed's as many share a key head, where that divides them; where it does
// not, a model's shape will be refused, and heads of a preset have a key head each.
std::int64_t kv_heads_of(const ShapeSeed& seed, std::int64_t heads) {
  if (seed.kv_heads == 0) return 0;
  const std::int64_t group = seed.heads / seed.kv_heads;
  if (heads % group == 0) return heads / group;
  return seed.keeps_width ? seed.kv_heads : heads;
}

// The axes of the call; one that was not given has the seed's values. Read once for all widths, of
// which there may be millions.
struct Calls {
  std::vector<std::int64_t> lengths, kv_heads, windows, pasts, batches, tokens, outliers;
};

Calls calls_of(const Axes& axes, const ShapeSeed& seed, bool causal) {
  Calls calls{{},
              axes.kv_heads.values(),
              axes.window.values_or({causal == seed.rules.causal ? seed.rules.window : 0}),
              axes.past.values_or(seed.pasts),
              axes.batch.values_or(seed.batches),
              axes.tokens.values_or(seed.tokens),
              axes.outliers.values_or({1})};
  if (axes.lengths) {
    calls.lengths = axes.lengths.values().front();
    calls.batches = {static_cast<std::int64_t>(calls.lengths.size())};
    calls.tokens = {*std::max_element(calls.lengths.begin(), calls.lengths.end())};
  }
  return calls;
}

void add_calls(const Calls& calls, Case shape, ShapeSet& set) {
  shape.lengths = calls.lengths;
  for (const std::int64_t window : calls.windows) {
    shape.window = window;
    for (const std::int64_t past : calls.pasts) {
      shape.past = past;
      for (const std::int64_t batch : calls.batches) {
        shape.batch = batch;
        for (const std::int64_t tokens : calls.tokens) {
          shape.tokens = tokens;
          for (const std::int64_t factor : calls.outliers) {
            shape.outliers = factor_of_outliers(factor);
            set.add(shape);
          }
        }
      }
    }
  }
}

// For a layer whose widths are set.
void add_calls(const Calls& calls, const ShapeSeed& seed, Case shape, ShapeSet& set) {
  const auto add = [&](std::int64_t kv_heads) {
    // As many as heads is the same layer as none named, and must have the same name.
    shape.kv_heads = kv_heads == shape.heads ? 0 : kv_heads;
    add_calls(calls, shape, set);
  };
  if (calls.kv_heads.empty()) add(kv_heads_of(seed, shape.heads));
  for (const std::int64_t kv_heads : calls.kv_heads) add(kv_heads);
}

// Heads of a preset that do not divide a width which an axis gave: the others are measured.
class Undivided {
 public:
  explicit Undivided(const Axes& axes) : of_preset_(axes.preset && !axes.model && !axes.heads) {}

  /// Whether the shape is left out.
  bool take(const Case& shape) {
    constexpr int kMost = 1000;  // beyond it the axes are refused as without a preset
    if (!of_preset_ || shape.d_out % shape.heads == 0 || ++taken_ > kMost) return false;
    heads_[shape.d_out].insert(shape.heads);
    return true;
  }

  /// @throws InvalidArgument if they were all.
  void note(bool all, std::vector<std::string>& notes) const {
    for (const auto& [width, heads] : heads_) {
      std::string note =
          fmt::format("--preset: left out {} heads, which do not divide the width {}",
                      fmt::join(heads, ", "), width);
      if (all) throw InvalidArgument(note + "; nothing is left to measure: choose another width");
      notes.push_back(std::move(note));
    }
  }

 private:
  bool of_preset_;
  int taken_ = 0;
  std::map<std::int64_t, std::set<std::int64_t>> heads_;  // by width
};

void require_lengths_alone(const Axes& axes) {
  if (!axes.lengths || (!axes.batch && !axes.tokens)) return;
  throw InvalidArgument(
      "--lengths: it gives the sequences and the tokens of each; leave out --batch and --tokens");
}

// The layer is the file's, the calls are those of the axes.
std::vector<Case> expand_calls(const Axes& axes, const LayerConfig& layer, std::uint64_t seed,
                               std::size_t most, std::vector<std::string>& notes) {
  const Axes call = without_layer_axes(axes, layer, notes);
  ShapeSeed start{layer.d_in, layer.heads, layer.head_dim(), true, {kDefaultTokens}};
  start.kv_heads = layer.kv_heads;
  start.rules = layer;
  Case shape{layer, {}, {}};
  if (axes.no_out_proj) shape.d_proj = 0;
  shape.dropout = axes.dropout.first().value_or(0);
  shape.dropout_seed = seed;
  ShapeSet set(most);
  add_calls(calls_of(call, start, shape.causal), start, shape, set);
  return set.shapes();
}

}  // namespace

Case attention_alone(const Case& shape) {
  if (shape.head_value_dim() != shape.head_dim()) {
    throw Unsupported(fmt::format(
        "--op: heads that are given have values as wide as keys, and those of {} are {} and {} "
        "wide; leave --op out",
        shape.id(), shape.head_value_dim(), shape.head_dim()));
  }
  LayerConfig layer;
  layer.d_out = shape.d_out;
  layer.heads = shape.heads;
  layer.kv_heads = shape.kv_heads;
  layer.causal = shape.causal;
  layer.window = shape.window;
  layer.scale = shape.scale;
  layer.softcap = shape.softcap;
  layer.dropout = shape.dropout;
  return {layer, static_cast<const CallSizes&>(shape), shape.lengths};
}

std::vector<Case> expand_shapes(const Axes& axes, const UserWeights* weights, std::uint64_t seed,
                                std::size_t most, std::vector<std::string>& notes) {
  require_lengths_alone(axes);
  if (weights != nullptr) return expand_calls(axes, weights->layer.config, seed, most, notes);
  const double dropout = axes.dropout.first().value_or(0);
  ShapeSet set(most);
  Undivided undivided(axes);
  for (const ShapeSeed& start : seeds_of(axes)) {
    const Calls calls = calls_of(axes, start, start.rules.causal && !axes.no_causal);
    for_each_widths(axes, [&](const Widths& given) {
      Case shape = make_shape(start, given, axes);
      if (undivided.take(shape)) return;
      shape.dropout = dropout;
      shape.dropout_seed = seed;
      for (const Op op : axes.op.values_or({Op::layer})) {
        add_calls(calls, start, op == Op::layer ? shape : attention_alone(shape), set);
      }
    });
  }
  undivided.note(set.shapes().empty(), notes);
  // Shapes of a preset often coincide once an axis overrides them; no note is needed.
  if (set.repeated() > 0 && !axes.preset) {
    notes.push_back(
        fmt::format("{} duplicate shapes dropped; each is measured once", set.repeated()));
  }
  return set.shapes();
}

}  // namespace headroom::plan
