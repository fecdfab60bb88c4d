#include "sweep/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "headroom/error.hpp"
#include "machine/cores.hpp"
#include "sweep/auto_rival.hpp"
#include "sweep/models.hpp"
#include "sweep/numbers.hpp"

namespace headroom::sweep {
namespace {

using Numbers = std::vector<std::int64_t>;

const Numbers kDefaultTokens{128};
constexpr std::int64_t kDefaultHeadDim = 64;
// Even with --yes: the list alone must not use up the memory.
constexpr std::size_t kMaxShapes = 10'000'000;

[[noreturn]] void fail_too_many(const char* what, std::size_t most) {
  throw InvalidArgument(fmt::format("these axes make more than {} {}; shorten a list{}", most, what,
                                    most == kMaxCells ? " or give --yes" : ""));
}

// The values of an axis, each once; a single 0 stands for "not given".
Numbers axis_or(const Numbers& fallback, std::string_view option,
                const std::optional<std::string>& text, std::int64_t least, Plan& plan) {
  if (!text) return fallback;
  Numbers unique;
  std::set<std::int64_t> seen;
  const Numbers values = parse_numbers(option, *text, least);
  for (const std::int64_t value : values) {
    if (seen.insert(value).second) unique.push_back(value);
  }
  if (unique.size() < values.size()) {
    plan.notes.push_back(fmt::format("{} {}: {} repeated; each is measured once", option, *text,
                                     values.size() - unique.size()));
  }
  return unique;
}

template <class T, class Key>
std::vector<T> once_each(std::vector<T> values, Key key, std::string_view option, Plan& plan) {
  std::vector<T> unique;
  for (T& value : values) {
    const bool known = std::any_of(unique.begin(), unique.end(),
                                   [&](const T& other) { return key(other) == key(value); });
    if (!known) unique.push_back(std::move(value));
  }
  if (unique.size() < values.size()) {
    plan.notes.push_back(fmt::format("{}: {} repeated; each is measured once", option,
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
    throw InvalidArgument(fmt::format(
        "--dropout: '{}' is not a probability for dropping; allowed is 0 up to but not including 1",
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
  // The projection leads back to the width of the input, so that the result can be added to it.
  shape.d_proj = axes.no_out_proj ? 0 : shape.d_in;
  shape.causal = !axes.no_causal;
  shape.qkv_bias = axes.qkv_bias;
  return shape;
}

std::vector<Widths> expand_widths(const Axes& axes, Plan& plan) {
  const Numbers heads = axis_or({0}, "--heads", axes.heads, 1, plan);
  const Numbers d_models = axis_or({0}, "--d-model", axes.d_model, 1, plan);
  const Numbers head_dims = axis_or({0}, "--head-dim", axes.head_dim, 1, plan);
  const Numbers d_ins = axis_or({0}, "--d-in", axes.d_in, 1, plan);
  std::vector<Widths> widths;
  for (const std::int64_t h : heads) {
    for (const std::int64_t m : d_models) {
      for (const std::int64_t d : head_dims) {
        for (const std::int64_t i : d_ins) {
          widths.push_back({h, m, d, i});
          if (widths.size() > kMaxShapes) fail_too_many("shapes", kMaxShapes);
        }
      }
    }
  }
  return widths;
}

// Collects shapes, each once.
class ShapeSet {
 public:
  explicit ShapeSet(std::size_t most) : most_(most) {}

  void add(const Shape& shape) {
    shape.validate();
    if (!seen_.insert(shape.id()).second) {
      ++repeated_;
      return;
    }
    shapes_.push_back(shape);
    if (shapes_.size() > most_) fail_too_many("cells", kMaxCells);
  }
  const std::vector<Shape>& shapes() const { return shapes_; }
  std::size_t repeated() const { return repeated_; }

 private:
  std::size_t most_;
  std::set<std::string> seen_;
  std::vector<Shape> shapes_;
  std::size_t repeated_ = 0;
};

std::vector<Shape> expand_shapes(const Axes& axes, const ExpandOptions& options,
                                 std::size_t most_shapes, Plan& plan) {
  const Numbers batches = axis_or({1}, "--batch", axes.batch, 0, plan);
  const Numbers given_tokens = axis_or({}, "--tokens", axes.tokens, 0, plan);
  const std::vector<Widths> widths = expand_widths(axes, plan);
  const double dropout = parse_dropout(axes);
  ShapeSet set(most_shapes);
  for (const ShapeSeed& seed : seeds_of(axes)) {
    for (const Widths& given : widths) {
      Shape shape = make_shape(seed, given, axes);
      shape.dropout = dropout;
      shape.dropout_seed = options.seed;
      for (const std::int64_t batch : batches) {
        for (const std::int64_t tokens : axes.tokens ? given_tokens : seed.tokens) {
          shape.batch = batch;
          shape.tokens = tokens;
          set.add(shape);
        }
      }
    }
  }
  // Shapes of a preset may coincide once an axis overrides them; that is no news to anyone.
  if (set.repeated() > 0 && !axes.preset) {
    plan.notes.push_back(
        fmt::format("{} shapes are the same as another; each is measured once", set.repeated()));
  }
  return set.shapes();
}

std::vector<Cell> rivals(const std::vector<Formulation>& formulations,
                         const std::vector<BackendChoice>& choices, const std::vector<int>& threads,
                         std::optional<Isa> isa) {
  const int cores = allowed_cores();
  std::vector<Cell> cells;
  for (const BackendChoice& backend : choices) {
    for (const int count : backend.threaded ? threads : std::vector<int>{1}) {
      for (const Formulation formulation : formulations) {
        Cell cell;
        cell.formulation = formulation;
        cell.backend = backend.name;
        cell.threads = count;
        cell.isa = isa;
        cell.order = cells.size();
        if (count > cores) {
          cell.warnings.push_back(fmt::format("{} threads share {} allowed cores", count, cores));
        }
        cells.push_back(std::move(cell));
      }
    }
  }
  return cells;
}

void warn_of_threads(const std::vector<int>& threads, Plan& plan) {
  const int most = *std::max_element(threads.begin(), threads.end());
  if (most > allowed_cores()) {
    plan.warnings.push_back(
        fmt::format("--threads {} is more than the {} cores this process may use; times will "
                    "suffer, and the results say so",
                    most, allowed_cores()));
  }
}

}  // namespace

std::size_t Plan::cell_count() const {
  std::size_t count = 0;
  for (const Group& group : groups) count += group.cells.size();
  return count;
}

std::string cell_id(const Shape& shape, const Cell& cell) {
  return fmt::format("{}/{}/f32/t{}/{}", to_string(cell.formulation), cell.backend, cell.threads,
                     shape.id());
}

Plan expand(const Axes& axes, const ExpandOptions& options) {
  Plan plan;
  const auto self = [](const auto& value) { return value; };
  const auto formulations =
      once_each(parse_formulations(axes.formulation), self, "--formulation", plan);
  std::optional<std::string> named = axes.backend;
  const bool with_auto = take_auto(named);
  const auto chosen = once_each(
      named == "" ? std::vector<BackendChoice>{} : parse_backends(named),
      [](const BackendChoice& b) { return b.name; }, "--backend", plan);
  const auto threads = once_each(parse_threads(axes.threads), self, "--threads", plan);
  const std::optional<Isa> isa = parse_forced_isa(axes.isa);
  plan.isa = select_isa(isa);
  warn_of_threads(threads, plan);

  const std::vector<Cell> cells = rivals(formulations, chosen, threads, isa);
  const std::size_t most_shapes =
      options.allow_many ? kMaxShapes : kMaxCells / std::max<std::size_t>(cells.size(), 1);
  for (const Shape& shape : expand_shapes(axes, options, most_shapes, plan)) {
    Group group{shape, cells};
    if (with_auto) add_auto(group, {formulations, threads, isa}, plan.warnings);
    for (Cell& cell : group.cells) cell.id = cell_id(shape, cell);
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

}  // namespace headroom::sweep
