// The axes that set sizes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/nearest.hpp"
#include "core/shape_json.hpp"
#include "headroom/error.hpp"
#include "plan/expand.hpp"
#include "plan/shapes/models.hpp"
#include "plan/shapes/shape_set.hpp"
#include "plan/user_weights.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {
namespace {

using Numbers = std::vector<std::int64_t>;

const Numbers kDefaultTokens{128};
constexpr std::int64_t kDefaultHeadDim = 64;
// Every length is part of the name of a cell.
constexpr std::size_t kMaxLengths = 1000;

// The values of an axis, each once; a single 0 stands for "not given".
Numbers axis_or(const Numbers& fallback, std::string_view option,
                const std::optional<std::string>& text, std::int64_t least,
                std::vector<std::string>& notes) {
  if (!text) return fallback;
  Numbers unique;
  std::set<std::int64_t> seen;
  const Numbers values = parse_numbers(option, *text, least);
  for (const std::int64_t value : values) {
    if (seen.insert(value).second) unique.push_back(value);
  }
  if (unique.size() < values.size()) {
    notes.push_back(fmt::format("{} {}: {} repeated; each is measured once", option, *text,
                                values.size() - unique.size()));
  }
  return unique;
}

std::vector<ShapeSeed> seeds_of(const Axes& axes) {
  if (axes.model) {
    std::vector<ShapeSeed> seeds;
    for (std::size_t start = 0; start <= axes.model->size();) {
      const std::size_t comma = std::min(axes.model->find(',', start), axes.model->size());
      seeds.push_back(model_shape(axes.model->substr(start, comma - start)));
      start = comma + 1;
    }
    if (!axes.preset) return seeds;
    const Numbers tokens = preset_shapes(*axes.preset).front().tokens;
    for (ShapeSeed& seed : seeds) seed.tokens = tokens;
    return seeds;
  }
  if (axes.preset) return preset_shapes(*axes.preset);
  if (!axes.sizes_given()) return preset_shapes("quick");
  return {{768, 12, kDefaultHeadDim, false, kDefaultTokens}};
}

double parse_dropout(const Axes& axes) {
  if (!axes.dropout) return 0;
  const double dropout = parse_real("--dropout", *axes.dropout);
  if (!(dropout >= 0 && dropout < 1)) {
    throw InvalidArgument(
        fmt::format("--dropout: '{}' is not a valid probability; give at least 0 and less than 1",
                    *axes.dropout));
  }
  return dropout;
}

Numbers parse_lengths(const Axes& axes) {
  if (axes.batch || axes.tokens) {
    throw InvalidArgument(
        "--lengths: it gives the sequences and the tokens of each; leave out --batch and --tokens");
  }
  Numbers lengths = parse_numbers("--lengths", *axes.lengths, 0);
  if (lengths.size() > kMaxLengths) {
    throw InvalidArgument(fmt::format("--lengths: there are {} lengths; the limit is {}",
                                      lengths.size(), kMaxLengths));
  }
  return lengths;
}

Rotary rotary_of(const Axes& axes, const ShapeSeed& seed) {
  Rotary rotary = seed.rotary;
  if (!axes.rotary) return rotary;
  const std::optional<Rotary::Pairs> pairs = parse_pairs(*axes.rotary);
  if (!pairs) {
    throw InvalidArgument(fmt::format("--rotary: unknown pairs '{}'; {}", *axes.rotary,
                                      suggest(*axes.rotary, {"none", "halves", "neighbours"})));
  }
  rotary.pairs = *pairs;
  // Without pairs nothing turns, whatever the base.
  return *pairs == Rotary::Pairs::none ? Rotary{} : rotary;
}

// One value of every axis that sets a width; 0 stands for "not given".
struct Widths {
  std::int64_t heads = 0;
  std::int64_t d_model = 0;
  std::int64_t head_dim = 0;
  std::int64_t d_in = 0;
};

Shape make_shape(const ShapeSeed& seed, const Widths& given, const Axes& axes) {
  Shape shape;
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
  shape.causal = !axes.no_causal;
  shape.qkv_bias = axes.qkv_bias;
  return shape;
}

struct WidthAxes {
  Numbers heads, d_models, head_dims, d_ins;
};

WidthAxes read_widths(const Axes& axes, std::vector<std::string>& notes) {
  return {axis_or({0}, "--heads", axes.heads, 1, notes),
          axis_or({0}, "--d-model", axes.d_model, 1, notes),
          axis_or({0}, "--head-dim", axes.head_dim, 1, notes),
          axis_or({0}, "--d-in", axes.d_in, 1, notes)};
}

// Not a list: a few words on the command line give billions, which `ShapeSet` will refuse.
template <class Take>
void for_each_widths(const WidthAxes& axes, Take take) {
  for (const std::int64_t h : axes.heads) {
    for (const std::int64_t m : axes.d_models) {
      for (const std::int64_t d : axes.head_dims) {
        for (const std::int64_t i : axes.d_ins) take(Widths{h, m, d, i});
      }
    }
  }
}

// What a call brings, and the layer's options that are lists.
struct CallAxes {
  Numbers batches, tokens, pasts, windows, kv_heads, lengths;
};

CallAxes read_call(const Axes& axes, std::vector<std::string>& notes) {
  CallAxes call;
  call.batches = axis_or({}, "--batch", axes.batch, 0, notes);
  call.tokens = axis_or({}, "--tokens", axes.tokens, 0, notes);
  call.pasts = axis_or({}, "--past", axes.past, 0, notes);
  call.windows = axis_or({}, "--window", axes.window, 1, notes);
  call.kv_heads = axis_or({}, "--kv-heads", axes.kv_heads, 1, notes);
  if (axes.lengths) call.lengths = parse_lengths(axes);
  return call;
}

// Of other heads than the seed's as many share a key head, where that divides them; where it does
// not, the shape will be refused.
std::int64_t kv_heads_of(const ShapeSeed& seed, std::int64_t heads) {
  if (seed.kv_heads == 0) return 0;
  const std::int64_t group = seed.heads / seed.kv_heads;
  return heads % group == 0 ? heads / group : seed.kv_heads;
}

// The axes of the call for a layer whose widths are set; an axis that was not given has the seed's.
template <class Take>
void for_each_call(const CallAxes& axes, const ShapeSeed& seed, Shape shape, Take take) {
  const auto given_or = [](const Numbers& given, const Numbers& fallback) {
    return given.empty() ? fallback : given;
  };
  const Numbers windows = given_or(axes.windows, {shape.causal ? seed.window : 0});
  shape.lengths = axes.lengths;
  Numbers batches = given_or(axes.batches, seed.batches);
  Numbers tokens = given_or(axes.tokens, seed.tokens);
  if (!shape.lengths.empty()) {
    batches = {static_cast<std::int64_t>(shape.lengths.size())};
    tokens = {*std::max_element(shape.lengths.begin(), shape.lengths.end())};
  }
  for (const std::int64_t kv_heads : given_or(axes.kv_heads, {kv_heads_of(seed, shape.heads)})) {
    // As many as heads is the same layer as none named, and must have the same name.
    shape.kv_heads = kv_heads == shape.heads ? 0 : kv_heads;
    for (const std::int64_t window : windows) {
      shape.window = window;
      for (const std::int64_t past : given_or(axes.pasts, seed.pasts)) {
        for (const std::int64_t batch : batches) {
          for (const std::int64_t count : tokens) {
            shape.past = past;
            shape.batch = batch;
            shape.tokens = count;
            take(shape);
          }
        }
      }
    }
  }
}

// The layer is the file's, the calls are those of the axes.
std::vector<Shape> expand_calls(const Axes& axes, const Shape& layer, std::uint64_t seed,
                                std::size_t most, std::vector<std::string>& notes) {
  const CallAxes call = read_call(without_layer_axes(axes, layer, notes), notes);
  ShapeSeed start{layer.d_in, layer.heads, layer.head_dim(), true, kDefaultTokens};
  start.kv_heads = layer.kv_heads;
  start.window = layer.window;
  Shape shape = layer;
  if (axes.no_out_proj) shape.d_proj = 0;
  shape.dropout = parse_dropout(axes);
  shape.dropout_seed = seed;
  ShapeSet set(most);
  for_each_call(call, start, shape, [&](const Shape& one) { set.add(one); });
  return set.shapes();
}

}  // namespace

std::vector<Shape> expand_shapes(const Axes& axes, const UserWeights* weights, std::uint64_t seed,
                                 std::size_t most, std::vector<std::string>& notes) {
  if (weights != nullptr) return expand_calls(axes, weights->layer.shape, seed, most, notes);
  const CallAxes call = read_call(axes, notes);
  const WidthAxes widths = read_widths(axes, notes);
  const double dropout = parse_dropout(axes);
  ShapeSet set(most);
  for (const ShapeSeed& start : seeds_of(axes)) {
    const Rotary rotary = rotary_of(axes, start);
    for_each_widths(widths, [&](const Widths& given) {
      Shape shape = make_shape(start, given, axes);
      shape.rotary = rotary;
      shape.dropout = dropout;
      shape.dropout_seed = seed;
      for_each_call(call, start, shape, [&](const Shape& one) { set.add(one); });
    });
  }
  // Shapes of a preset often coincide once an axis overrides them; no note is needed.
  if (set.repeated() > 0 && !axes.preset) {
    notes.push_back(
        fmt::format("{} duplicate shapes dropped; each is measured once", set.repeated()));
  }
  return set.shapes();
}

}  // namespace headroom::plan
