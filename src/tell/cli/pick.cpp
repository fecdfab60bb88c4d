#include "pick/pick.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "cli/results.hpp"
#include "core/nearest.hpp"
#include "core/text/shown.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "judge/cautions.hpp"
#include "pick/contest.hpp"
#include "pick/neighbours/from_store.hpp"
#include "pick/neighbours/leave_one_out.hpp"
#include "pick/rounds.hpp"
#include "plan/axes_options.hpp"
#include "plan/expand.hpp"
#include "plan/user_weights.hpp"
#include "program/exit_code.hpp"
#include "program/files/fresh_file.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "store/catalogue.hpp"
#include "store/runs.hpp"

namespace headroom::cli {
namespace {

struct PickOptions {
  plan::AxesOptions axes;
  std::string emit = "text";
  std::optional<std::string> from, machine, without, max_packed_bytes, max_error, budget, output;
  bool leave_one_out = false;
  bool fail_if_unclear = false;
};

// Backends that are named; empty for all.
std::vector<std::string> names_of(const plan::Axis<plan::BackendChoice>& axis) {
  if (axis.text() == "all") return {};
  std::vector<std::string> names;
  for (const plan::BackendChoice& each : axis.values()) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), kAuto) == names.end()) return names;
  throw InvalidArgument("--backend: auto follows what pick chooses; name other backends");
}

double parse_error(const std::string& text) {
  const double error = parse_real("--max-error", text);
  if (error > 0) return error;
  throw InvalidArgument(
      fmt::format("--max-error: '{}' is not above 0; give the largest nrmse, such as 1e-4", text));
}

void require_one_rank(const plan::Axis<int>& ranks) {
  if (!ranks || ranks.values() == std::vector{1}) return;
  throw InvalidArgument(
      fmt::format("--ranks: '{}' was given, but pick answers for one process, which is what a "
                  "program is linked as; leave it out, and measure ranks with headroom sweep",
                  ranks.text()));
}

pick::Filters filters_of(const PickOptions& options, const plan::Axes& axes) {
  require_one_rank(axes.ranks);
  pick::Filters filters;
  filters.backends = names_of(axes.backend);
  if (options.without) {
    plan::Axes left_out;
    left_out.backend = *options.without;
    filters.without = names_of(left_out.backend);
  }
  filters.formulations = plan::rival_axes_of(axes).formulations;
  filters.threads = axes.threads.values();
  select_target(axes.isa.first(), axes.unit.first());  // what is not here is an error
  if (axes.isa) filters.isa = to_string(*axes.isa.first());
  if (axes.unit) filters.unit = to_string(*axes.unit.first());
  if (options.max_packed_bytes) {
    filters.max_packed_bytes = parse_bytes("--max-packed-bytes", *options.max_packed_bytes);
  }
  if (axes.precision) filters.precisions = plan::rival_axes_of(axes).precisions;
  if (options.max_error) filters.max_error = parse_error(*options.max_error);
  if (axes.dtype.values().size() > 1) {
    throw InvalidArgument("pick accepts a single --dtype; give f32 or bf16");
  }
  filters.stored = plan::stored_of(axes);
  if (filters.stored.size() > 1 && !filters.max_error) {
    throw InvalidArgument(
        fmt::format("{}: which of several is best depends on the error that is allowed; say it "
                    "with --max-error, such as 2e-2, or give one",
                    axes.weights_dtype.values().size() > 1 ? "--weights-dtype" : "--cache-dtype"));
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

void complain_of(const char* kind, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) complain(kind, text);
}

void write(const PickOptions& options, const std::string& text) {
  if (options.output) {
    write_file(*options.output, text);
  } else {
    out().write(text);
  }
}

int answered(const PickOptions& options, const pick::Pick& choice) {
  write(options, emitted(options, choice));
  if (!options.fail_if_unclear || !choice.unclear()) return kDone;
  complain("error", "no answer yet: measure longer, or on a quieter machine");
  return kCheckFailed;
}

// Those that were asked for; none means all.
std::vector<Case> shapes_of(const plan::Axes& axes) {
  if (!axes.sizes_given() && !axes.preset) return {};
  std::vector<std::string> notes;
  const auto weights = plan::find_user_weights(axes);
  return plan::expand_shapes(axes, weights.get(), 1, plan::kMaxCells, notes);
}

int pick_from_folder(const PickOptions& options, const plan::Axes& axes,
                     const pick::Filters& filters) {
  const record::ResultsFolder folder = read_results(*options.from);
  const std::vector<Case> shapes = shapes_of(axes);
  for (const std::string& left_out :
       {pick::left_out_ranks(folder), pick::left_out_attention(folder)}) {
    if (!left_out.empty()) complain("note", left_out);
  }
  const std::string elsewhere = pick::other_machine(folder);
  if (!elsewhere.empty()) {
    complain("warning",
             elsewhere + "; the choice is valid there, and auto will not use its file here");
  }
  return answered(options, pick::pick(folder, shapes, filters));
}

int leave_one_out(const PickOptions& options, const store::Catalogue& catalogue,
                  const plan::Axes& axes, const pick::Filters& filters) {
  pick::StoredResults results;
  if (options.emit == "cmake") {
    throw InvalidArgument("--leave-one-out prints a table; use --emit text or json");
  }
  const pick::LeaveOneOut table = pick::leave_one_out(catalogue, shapes_of(axes), filters, results);
  complain_of("note", table.notes);
  write(options, options.emit == "json" ? pick::to_json(table) : pick::to_text(table));
  return kDone;
}

int pick_from_store(const PickOptions& options, const plan::Axes& axes,
                    const pick::Filters& filters, machine::LimitKernelsOf limits_of) {
  const store::Catalogue catalogue = store::catalogue_of(*options.from);
  complain_of("warning", catalogue.notes);
  if (options.leave_one_out) return leave_one_out(options, catalogue, axes, filters);
  pick::StoredResults results;
  pick::StoreAnswer answer = pick::pick_from_store(
      catalogue,
      {shapes_of(axes), filters, options.machine,
       pick::this_machine(select_target(axes.isa.first(), axes.unit.first()), limits_of)},
      results);
  complain_of("note", answer.notes);
  if (answer.pick.borrowed && catalogue.machines.size() > 1) {
    std::vector<Case> shapes;
    for (const pick::ShapePick& shape : answer.pick.shapes) shapes.push_back(shape.shape);
    answer.pick.borrowed->evidence =
        pick::evidence(pick::leave_one_out(catalogue, shapes, filters, results));
  }
  return answered(options, answer.pick);
}

void check_store_options(const PickOptions& options) {
  const char* option = options.machine         ? "--machine"
                       : options.leave_one_out ? "--leave-one-out"
                                               : nullptr;
  if (option == nullptr) return;
  if (options.machine && options.leave_one_out) {
    throw InvalidArgument("--machine and --leave-one-out are mutually exclusive");
  }
  if (options.fail_if_unclear && options.leave_one_out) {
    throw InvalidArgument("--fail-if-unclear and --leave-one-out are mutually exclusive");
  }
  if (!options.from) {
    throw InvalidArgument(fmt::format("{}: needs a store; give one with --from STORE", option));
  }
  if (store::is_run(*options.from)) {
    throw InvalidArgument(
        fmt::format("{}: {} is a results folder of one run; give a store with --from, which "
                    "headroom collect makes",
                    option, shown_text(*options.from)));
  }
}

int pick_from(const PickOptions& options, const plan::Axes& axes, const pick::Filters& filters,
              machine::LimitKernelsOf limits_of) {
  std::error_code error;
  const bool store = !store::is_run(*options.from) &&
                     std::filesystem::is_directory(*options.from, error) &&
                     !store::stored_runs(*options.from).empty();
  return store ? pick_from_store(options, axes, filters, limits_of)
               : pick_from_folder(options, axes, filters);
}

int pick_by_measuring(const PickOptions& options, const plan::Axes& axes,
                      const pick::Filters& filters, machine::LimitKernelsOf limits_of) {
  std::optional<double> budget;
  if (options.budget) budget = parse_duration("--budget", *options.budget);
  const pick::Contest contest = pick::prepare_contest(axes, filters, budget, limits_of);
  complain_of("note", contest.plan.notes);
  complain_of("warning", contest.plan.warnings);
  install_signal_handlers();
  const auto start = std::chrono::steady_clock::now();
  record::ResultsFolder folder = pick::run_contest(contest);
  if (stop_signal() != 0) return kSignalBase + stop_signal();
  const pick::Pick choice = pick::pick_with_rounds(
      contest, folder, filters,
      [start] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      },
      [&](const plan::Plan& plan, double seconds) {
        return pick::run_round(contest, plan, seconds);
      });
  if (stop_signal() != 0) return kSignalBase + stop_signal();
  if (!choice.note.empty()) complain("note", choice.note);
  complain_of("warning",
              judge::cautions_after(folder.results, 0, record::peaks_of(folder.environment)));
  return answered(options, choice);
}

int run(const PickOptions& options, machine::LimitKernelsOf limits_of) {
  check_emit(options.emit);
  check_store_options(options);
  if (options.output) require_writable(*options.output);
  const plan::Axes axes = options.axes.values();
  const pick::Filters filters = filters_of(options, axes);
  return options.from ? pick_from(options, axes, filters, limits_of)
                      : pick_by_measuring(options, axes, filters, limits_of);
}

}  // namespace

Command add_pick(CLI::App& app, machine::LimitKernelsOf limits_of) {
  CLI::App* command =
      app.add_subcommand("pick", "choose the backend and formulation to link for these shapes");
  const auto options = std::make_shared<PickOptions>();
  options->axes.add_to(*command, plan::AxesOptions::Which::layers);
  add_value(*command, "--from", options->from, "DIR",
            "results folder or store to pick from (default: measure now)");
  add_value(*command, "--machine", options->machine, "NAME",
            "machine of the store to pick for (default: this one, or the nearest)");
  command->add_flag("--leave-one-out", options->leave_one_out,
                    "for each machine of the store, what the nearest other one would have chosen, "
                    "and how much that would lose");
  command->add_flag("--fail-if-unclear", options->fail_if_unclear,
                    "exit with 1 if there is no answer yet: another backend may be as fast");
  add_value(*command, "--emit", options->emit, "text|cmake|json",
            "text (default), cmake (a file to include) or json (a tuning file)");
  add_value(*command, "--output", options->output, "FILE",
            "file to write (default: standard output)");
  add_value(*command, "--without", options->without, "NAMES",
            "backends not to pick, separated by commas");
  add_value(*command, "--max-packed-bytes", options->max_packed_bytes, "SIZE",
            "maximum size of packed weights, such as 64MiB");
  add_value(*command, "--max-error", options->max_error, "NUMBER",
            "largest nrmse allowed, such as 1e-4; chooses among precisions (default: those as "
            "accurate as f32)");
  add_value(*command, "--budget", options->budget, "TIME",
            "time for measuring, such as 90s (default: 90s per shape)");
  add_examples(*command,
               "  headroom pick --model gpt2 --tokens 128\n"
               "  headroom pick --from headroom-results --emit cmake --output link.cmake\n"
               "  headroom pick --from store --model gpt2 --tokens 128");
  return {command, [options, limits_of] { return run(*options, limits_of); }};
}

}  // namespace headroom::cli
