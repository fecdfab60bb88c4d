// The axes that set sizes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "headroom/error.hpp"
#include "plan/expand.hpp"
#include "plan/models.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {
namespace {

using Numbers = std::vector<std::int64_t>;

const Numbers kDefaultTokens{128};
constexpr std::int64_t kDefaultHeadDim = 64;
// Of a shape that is there already: such as all of --head-dim beside --d-model, for which a short
// line would otherwise be busy for seconds.
constexpr std::size_t kMaxRepeated = 1'000'000;

[[noreturn]] void fail_too_many(const char* what, std::size_t most) {
  throw InvalidArgument(fmt::format("these axes give more than {} {}; shorten a list{}", most, what,
                                    most == kMaxCells ? " or add --yes" : ""));
}

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

// Collects shapes, each once. The numbers that differ between them tell them apart, because
// making an id for each of ten million repetitions would take many seconds.
class ShapeSet {
 public:
  explicit ShapeSet(std::size_t most) : most_(most) {}

  void add(const Shape& shape) {
    if (++added_ > kMaxShapes) fail_too_many("shapes", kMaxShapes);
    if (!seen_.insert({shape.batch, shape.tokens, shape.d_in, shape.d_out, shape.heads}).second) {
      if (++repeated_ > kMaxRepeated) fail_too_many("repeated shapes", kMaxRepeated);
      return;
    }
    shape.validate();
    shapes_.push_back(shape);
    if (shapes_.size() > most_) fail_too_many("cells", kMaxCells);
  }
  const std::vector<Shape>& shapes() const { return shapes_; }
  std::size_t repeated() const { return repeated_; }

 private:
  std::size_t most_;
  std::size_t added_ = 0;
  std::set<std::array<std::int64_t, 5>> seen_;
  std::vector<Shape> shapes_;
  std::size_t repeated_ = 0;
};

}  // namespace

std::vector<Shape> expand_shapes(const Axes& axes, std::uint64_t seed, std::size_t most,
                                 std::vector<std::string>& notes) {
  const Numbers batches = axis_or({1}, "--batch", axes.batch, 0, notes);
  const Numbers given_tokens = axis_or({}, "--tokens", axes.tokens, 0, notes);
  const WidthAxes widths = read_widths(axes, notes);
  const double dropout = parse_dropout(axes);
  ShapeSet set(most);
  for (const ShapeSeed& start : seeds_of(axes)) {
    for_each_widths(widths, [&](const Widths& given) {
      Shape shape = make_shape(start, given, axes);
      shape.dropout = dropout;
      shape.dropout_seed = seed;
      for (const std::int64_t batch : batches) {
        for (const std::int64_t tokens : axes.tokens ? given_tokens : start.tokens) {
          shape.batch = batch;
          shape.tokens = tokens;
          set.add(shape);
        }
      }
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
