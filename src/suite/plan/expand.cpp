#include "plan/expand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/backend.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "plan/auto_rival.hpp"
#include "plan/shapes/outliers.hpp"
#include "plan/user_weights.hpp"
#include "processor/cores.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {
namespace {

// All on as many ranks and threads.
void add_rivals(std::vector<Cell>& cells, const RivalAxes& axes, const std::string& backend,
                int ranks, int threads) {
  const int cores = allowed_cores();
  for (const Formulation formulation : axes.formulations) {
    for (const Precision precision : axes.precisions) {
      Cell cell;
      cell.formulation = formulation;
      cell.backend = backend;
      cell.numbers = axes.stored;
      cell.numbers.precision = precision;
      cell.threads = threads;
      cell.ranks = ranks;
      cell.isa = axes.isa;
      cell.unit = axes.unit;
      cell.order = cells.size();
      if (threads > cores) {
        cell.warnings.push_back(fmt::format("{} threads share {} allowed cores", threads, cores));
      }
      cells.push_back(std::move(cell));
    }
  }
}

std::vector<Cell> rivals(const RivalAxes& axes, const std::vector<BackendChoice>& choices) {
  std::vector<Cell> cells;
  for (const BackendChoice& backend : choices) {
    for (const int ranks : axes.ranks) {
      for (const int threads : backend.threaded ? axes.threads : std::vector<int>{1}) {
        add_rivals(cells, axes, backend.name, ranks, threads);
      }
    }
  }
  return cells;
}

// What is worth knowing of cells whose heads are divided.
void warn_of_ranks(const Case& shape, std::vector<Cell>& cells) {
  const std::int64_t cores = allowed_cores();
  for (Cell& cell : cells) {
    if (cell.ranks == 1) continue;
    const std::int64_t idle = cell.ranks - shape.heads;
    if (idle > 0) {
      cell.warnings.push_back(fmt::format("{} ranks share {}: {} of them {} nothing to do",
                                          cell.ranks, counted(shape.heads, "head"), idle,
                                          idle == 1 ? "has" : "have"));
    }
    if (std::int64_t{cell.ranks} * cell.threads > cores) {
      cell.warnings.push_back(
          fmt::format("{} ranks of {} share {} allowed cores if all ranks are on this machine",
                      cell.ranks, counted(cell.threads, "thread"), cores));
    }
  }
}

void require_ranks(const std::vector<int>& ranks, int here) {
  const int most = *std::max_element(ranks.begin(), ranks.end());
  if (most <= here) return;
  throw InvalidArgument(
      fmt::format("--ranks: {} ranks, but {} started; at most as many are allowed; start them "
                  "with: mpirun -n {} headroom sweep --ranks {} ...",
                  most, here == 1 ? "1 process was" : fmt::format("{} processes were", here), most,
                  fmt::join(ranks, ",")));
}

void warn_of_cores(const std::vector<int>& ranks, const std::vector<int>& threads, Plan& plan) {
  const std::int64_t most_ranks = *std::max_element(ranks.begin(), ranks.end());
  const std::int64_t most_threads = *std::max_element(threads.begin(), threads.end());
  if (most_ranks == 1 || most_ranks * most_threads <= allowed_cores()) return;
  plan.warnings.push_back(
      fmt::format("--ranks {} of {} each are more than the {} cores this process may use; if all "
                  "ranks are on this machine, times will suffer, and the results carry a warning",
                  most_ranks, counted(most_threads, "thread"), allowed_cores()));
}

void warn_of_threads(const std::vector<int>& threads, Plan& plan) {
  const int most = *std::max_element(threads.begin(), threads.end());
  if (most > allowed_cores()) {
    plan.warnings.push_back(
        fmt::format("--threads {} is more than the {} cores this process may use; times will "
                    "suffer, and the results carry a warning",
                    most, allowed_cores()));
  }
}

void describe_weights(const UserWeights& weights, Plan& plan) {
  const weights::StoredLayer& layer = weights.layer;
  const bool named = layer.layout == weights::kNamedLayout;
  plan.notes.push_back(fmt::format(
      "weights of {}, {}", shown_path(weights.path),
      named
          ? "tensors as named"
          : fmt::format("{}: layout {}",
                        layer.layer.empty() ? "its only layer" : "layer " + shown_text(layer.layer),
                        layer.layout)));
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(plan.notes, layer.notes);
  append(plan.warnings, weights.survey.warnings);
}

// With `--op attention` an axis of the layer would be taken for one of both.
void require_axes_of_both(const Axes& axes) {
  const std::vector<Op>& ops = axes.op.values();
  if (std::find(ops.begin(), ops.end(), Op::attention) == ops.end()) return;
  Axes::each(axes, [&](const auto& axis) {
    if (!axis.words().of_layer || !static_cast<bool>(axis)) return;
    throw InvalidArgument(fmt::format(
        "--{}: it belongs to a layer, and --op {} measures attention over queries, keys and values "
        "that are given; leave one of them out",
        axis.words().name, axes.op.text()));
  });
}

}  // namespace

namespace {

void require_numbers(const Plan& plan) {
  const Cell* first = nullptr;
  bool outliers = false;
  for (const Group& group : plan.groups) {
    outliers = outliers || group.shape.outliers > 0;
    for (const Cell& cell : group.cells) {
      if (!cell.unsupported) return;
      if (first == nullptr) first = &cell;
    }
  }
  if (first == nullptr) return;
  throw Unavailable(
      fmt::format("no cell of these axes can be computed here: {}; choose another --precision, "
                  "--dtype, --weights-dtype, --cache-dtype or --backend{}",
                  first->skip_reason, outliers ? ", or leave --outliers out" : ""));
}

}  // namespace

RivalAxes rival_axes_of(const Axes& axes) {
  RivalAxes rivals;
  rivals.formulations =
      axes.formulation.values_or({Formulation::wrapper, Formulation::split, Formulation::fused});
  rivals.ranks = axes.ranks.values_or({1});
  rivals.threads = axes.threads.values_or({allowed_cores()});
  rivals.asked = axes.precision.values_or({Precision::f32});
  rivals.precisions = precisions_by_name(rivals.asked);
  rivals.isa = axes.isa.first();
  rivals.unit = axes.unit.first();
  return rivals;
}

std::vector<Numbers> stored_of(const Axes& axes) {
  std::vector<Numbers> stored;
  for (const Dtype dtype : axes.dtype.values_or({Dtype::f32})) {
    for (const Storage weights : axes.weights_dtype.values_or({storage_of(dtype)})) {
      for (const Storage cache : axes.cache_dtype.values_or({storage_of(dtype)})) {
        Numbers numbers{Precision::f32, dtype};
        if (weights != storage_of(dtype)) numbers.weights = weights;
        if (cache != storage_of(dtype)) numbers.cache = cache;
        stored.push_back(numbers);
      }
    }
  }
  return stored;
}

namespace {

Arithmetic arithmetic_of(const Cell& cell) {
  return headroom::arithmetic_of(cell.backend, cell.numbers, select_target(cell.isa, cell.unit));
}

void decline_unless(const Arithmetic& does, Cell& cell) {
  if (does.precision == cell.numbers.precision) return;
  cell.unsupported = true;
  cell.skip_reason = does.precision ? fmt::format("{} computes {} as {}: {}", cell.backend,
                                                  to_string(cell.numbers.precision),
                                                  to_string(*does.precision), does.reason)
                                    : fmt::format("{} has no {}: {}", cell.backend,
                                                  headroom::to_string(cell.numbers), does.reason);
}

}  // namespace

void decline_numbers(Cell& cell) { decline_unless(arithmetic_of(cell), cell); }

std::vector<Cell> attention_rivals(const std::vector<Cell>& of_layer) {
  std::vector<Cell> rivals;
  for (const Cell& cell : of_layer) {
    if (cell.formulation != of_layer.front().formulation) continue;
    rivals.push_back(cell);
    rivals.back().order = rivals.size() - 1;
    const Arithmetic does = arithmetic_of(cell);
    const bool declined_for_products = does.precision != cell.numbers.precision &&
                                       does.of_attention().precision == cell.numbers.precision;
    if (declined_for_products) {
      rivals.back().unsupported = false;
      rivals.back().skip_reason.clear();
    }
    decline_unless(does.of_attention(), rivals.back());
  }
  return rivals;
}

void decline_outliers(const Case& shape, std::vector<Cell>& cells) {
  if (shape.outliers == 0) return;
  const std::optional<std::string> reason = declines_outliers(shape);
  if (!reason) return;
  for (Cell& cell : cells) {
    cell.unsupported = true;
    cell.skip_reason = *reason;
  }
}

namespace {

// Whoever names neither sizes nor a precision wants to know what is fastest: with results as exact
// as f32's, products of parts by a unit of the processor may be.
bool wants_parts(const Axes& axes, const Target& target) {
  return axes.only_quick() && !axes.precision && target.unit != Unit::emulated;
}

}  // namespace

Plan expand(const Axes& axes, const ExpandOptions& options) {
  Plan plan;
  plan.notes = axes.notes();
  require_axes_of_both(axes);
  std::vector<BackendChoice> chosen = axes.backend.values_or(every_backend());
  const bool with_auto =
      std::erase_if(chosen, [](const BackendChoice& each) { return each.name == kAuto; }) > 0;
  RivalAxes rival_axes = rival_axes_of(axes);
  plan.target = select_target(rival_axes.isa, rival_axes.unit);
  const bool with_parts = wants_parts(axes, plan.target);
  if (with_parts) {
    rival_axes.asked = {Precision::f32, std::nullopt};
    rival_axes.precisions = precisions_by_name(rival_axes.asked);
  }
  warn_of_threads(rival_axes.threads, plan);
  require_ranks(rival_axes.ranks, options.ranks_here);
  warn_of_cores(rival_axes.ranks, rival_axes.threads, plan);
  const std::vector<Numbers> stored = stored_of(axes);

  std::vector<std::vector<Cell>> cells;  // for each of these
  std::size_t of_a_shape = 0;
  bool parts = false;
  for (const Numbers& numbers : stored) {
    rival_axes.stored = numbers;
    cells.push_back(rivals(rival_axes, chosen));
    for (Cell& cell : cells.back()) decline_numbers(cell);
    drop_declined_parts(rival_axes.asked, cells.back());
    parts = parts || has_parts(cells.back());
    of_a_shape += cells.back().size();
  }
  if (with_parts && !parts) rival_axes.asked = {Precision::f32};  // `auto` has no choice
  const std::size_t most_shapes =
      options.allow_many ? kMaxShapes : kMaxCells / std::max<std::size_t>(of_a_shape, 1);
  const auto weights = find_user_weights(axes);
  if (weights != nullptr) describe_weights(*weights, plan);
  for (const Case& shape :
       expand_shapes(axes, weights.get(), options.seed, most_shapes, plan.notes)) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      Group group{shape, shape.has_projections() ? cells[i] : attention_rivals(cells[i]), weights};
      if (with_auto) {
        rival_axes.stored = stored[i];
        add_auto(group, rival_axes, plan.warnings);
      }
      decline_outliers(shape, group.cells);
      warn_of_ranks(shape, group.cells);
      for (Cell& cell : group.cells) cell.id = cell_id(shape, cell);
      plan.groups.push_back(std::move(group));
    }
  }
  require_numbers(plan);
  return plan;
}

}  // namespace headroom::plan
