#include "pick/pick.hpp"

#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/results.hpp"
#include "core/nearest.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "pick/measure.hpp"
#include "sweep/cautions.hpp"
#include "sweep/exit_code.hpp"
#include "sweep/interrupt.hpp"
#include "sweep/numbers.hpp"
#include "sweep/regular_file.hpp"

namespace headroom::cli {
namespace {

struct PickOptions {
  sweep::Axes axes;
  std::string emit = "text";
  std::optional<std::string> from, without, max_packed_bytes, budget, output;
};

// Of each shape; the answer is promised within two minutes, and reading takes part of it.
constexpr double kBudgetSeconds = 90;

std::vector<std::string> known_names(std::string_view option,
                                     const std::optional<std::string>& text) {
  if (!text || (*text == "all" && option == "--backend")) return {};
  std::vector<std::string> known;
  for (const BackendInfo& info : backends()) known.push_back(info.name);
  std::vector<std::string> names = sweep::split_names(option, *text);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw InvalidArgument(
        fmt::format("{}: unknown backend '{}'; {}", option, name, suggest(name, known)));
  }
  return names;
}

pick::Filters filters_of(const PickOptions& options) {
  pick::Filters filters;
  filters.backends = known_names("--backend", options.axes.backend);
  filters.without = known_names("--without", options.without);
  filters.formulations = sweep::parse_formulations(options.axes.formulation);
  if (options.axes.threads) filters.threads = sweep::parse_threads(options.axes.threads);
  if (const auto isa = sweep::parse_forced_isa(options.axes.isa)) filters.isa = to_string(*isa);
  if (options.max_packed_bytes) {
    filters.max_packed_bytes = sweep::parse_bytes("--max-packed-bytes", *options.max_packed_bytes);
  }
  return filters;
}

std::string emitted(const PickOptions& options, const pick::Pick& choice) {
  if (options.emit == "cmake") return pick::to_cmake(choice);
  return options.emit == "json" ? pick::to_json(choice) : pick::to_text(choice);
}

void check_emit(const std::string& emit) {
  const std::vector<std::string> formats{"text", "cmake", "json"};
  if (std::find(formats.begin(), formats.end(), emit) != formats.end()) return;
  throw InvalidArgument(
      fmt::format("--emit: unknown format '{}'; {}", emit, suggest(emit, formats)));
}

void write(const PickOptions& options, const pick::Pick& choice) {
  if (options.output) {
    sweep::write_file(*options.output, emitted(options, choice));
  } else {
    out().write(emitted(options, choice));
  }
}

std::vector<Shape> shapes_of(const sweep::Plan& plan) {
  std::vector<Shape> shapes;
  for (const sweep::Group& group : plan.groups) shapes.push_back(group.shape);
  return shapes;
}

int pick_from(const PickOptions& options, const pick::Filters& filters) {
  const sweep::ResultsFolder folder = read_results(*options.from);
  std::vector<Shape> shapes;
  if (options.axes.sizes_given() || options.axes.preset) {
    sweep::Axes sizes = options.axes;
    // Who computes is the filters' matter: the folder may be of a program with other backends.
    sizes.backend = "naive";
    sizes.threads = "1";
    shapes = shapes_of(sweep::expand(sizes, {}));
  }
  const std::string elsewhere = pick::other_machine(folder);
  if (!elsewhere.empty()) {
    complain("warning", elsewhere + "; the choice holds there, and auto refuses its file here");
  }
  write(options, pick::pick(folder, shapes, filters));
  return sweep::kDone;
}

// Every cell that could win and that the filters allow.
sweep::Plan plan_of(const PickOptions& options, const pick::Filters& filters) {
  if (!options.axes.sizes_given() && !options.axes.preset) {
    throw InvalidArgument(
        "pick needs a shape, such as --model gpt2 --tokens 128, or results with --from DIR");
  }
  sweep::Plan plan = sweep::expand(options.axes, {});
  for (const std::string& note : plan.notes) complain("note", note);
  for (const std::string& warning : plan.warnings) complain("warning", warning);
  for (sweep::Group& group : plan.groups) {
    if (group.shape.rows() == 0) {
      throw InvalidArgument(fmt::format(
          "{} has nothing to compute; give at least one token and one sequence", group.shape.id()));
    }
    std::erase_if(group.cells, [&](const sweep::Cell& cell) {
      return std::find(filters.without.begin(), filters.without.end(), cell.backend) !=
             filters.without.end();
    });
  }
  if (plan.cell_count() == 0) {
    throw InvalidArgument(
        fmt::format("--without {} leaves no backend; allow more", fmt::join(filters.without, ",")));
  }
  if (!options.axes.backend) {
    const std::vector<std::string> dropped = pick::drop_hopeless(plan);
    if (!dropped.empty()) {
      complain("note", fmt::format("not timed where an estimate makes it {} times slower than the "
                                   "fastest or worse: {}; --backend all times everything",
                                   pick::kHopeless, fmt::join(dropped, ", ")));
    }
  }
  return plan;
}

void complain_of(const std::vector<std::string>& cautions) {
  for (const std::string& caution : cautions) complain("warning", caution);
}

int pick_by_measuring(const PickOptions& options, const pick::Filters& filters,
                      machine::LimitKernelsOf limits_of) {
  sweep::Plan plan = plan_of(options, filters);
  complain_of(sweep::cautions_before(machine::current_conditions(), sweep::is_release_build()));
  sweep::SweepSettings settings;
  // A core that others take for a while would make every threaded candidate look slow; the control
  // tells.
  if (limits_of != nullptr) {
    settings.control = limits_of(plan.isa).fma;
    settings.timing.beside = sweep::kControlSeconds;
  }
  settings.memory_limit = sweep::usable_memory({});
  settings.budget = options.budget ? sweep::parse_duration("--budget", *options.budget)
                                   : kBudgetSeconds * static_cast<double>(plan.groups.size());
  sweep::fit_budget(plan, settings, sweep::Estimator());
  sweep::install_signal_handlers();
  const pick::ScratchFolder scratch;
  pick::measure(plan, settings, scratch.path());
  if (sweep::stop_signal() != 0) return sweep::kSignalBase + sweep::stop_signal();
  const sweep::ResultsFolder folder = read_results(scratch.path());
  complain_of(sweep::cautions_after(folder.results, 0));
  write(options, pick::pick(folder, shapes_of(plan), filters));
  return sweep::kDone;
}

int run(const PickOptions& options, machine::LimitKernelsOf limits_of) {
  check_emit(options.emit);
  const pick::Filters filters = filters_of(options);
  return options.from ? pick_from(options, filters)
                      : pick_by_measuring(options, filters, limits_of);
}

}  // namespace

Command add_pick(CLI::App& app, machine::LimitKernelsOf limits_of) {
  CLI::App* command =
      app.add_subcommand("pick", "which backend and formulation to link for these shapes");
  const auto options = std::make_shared<PickOptions>();
  sweep::add_axes_options(*command, options->axes);
  command->add_option("--from", options->from,
                      "folder of results to pick from (default: measure now)");
  command->add_option("--emit", options->emit,
                      "text (default), cmake (a file to include) or json (a tuning file)");
  command->add_option("--output", options->output, "file to write (default: standard output)");
  command->add_option("--without", options->without, "backends not to pick, separated by commas");
  command->add_option("--max-packed-bytes", options->max_packed_bytes,
                      "packed weights at most, such as 64MiB");
  command->add_option("--budget", options->budget,
                      "time to measure, such as 90s (default: 90s for each shape)");
  return {command, [options, limits_of] { return run(*options, limits_of); }};
}

}  // namespace headroom::cli
