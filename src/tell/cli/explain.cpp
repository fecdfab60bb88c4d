#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "lesson/examples.hpp"
#include "lesson/formulation_times.hpp"
#include "lesson/lesson_page.hpp"
#include "lesson/lesson_text.hpp"
#include "lesson/own_input.hpp"
#include "measure/progress.hpp"
#include "plan/axes_options.hpp"
#include "plan/user_weights.hpp"
#include "program/exit_code.hpp"
#include "program/files/fresh_file.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"

namespace headroom::cli {
namespace {

// The ladder's last rung, which shows most.
constexpr const char* kExampleOfInput = "split";

struct ExplainOptions {
  plan::AxesOptions axes;  // what says which weights
  std::optional<std::string> example, input, heads, seed, page;
  bool json = false;
};

std::optional<lesson::TrainedLayer> trained_layer(const ExplainOptions& options) {
  plan::Axes axes = options.axes.values();
  if (axes.weights && options.heads) axes.heads = *options.heads;
  const std::shared_ptr<const plan::UserWeights> user = plan::find_user_weights(axes);
  if (user == nullptr) return {};
  for (const std::string& note : user->layer.notes) complain("note", note);
  for (const std::string& warning : user->survey.warnings) complain("warning", warning);
  const Case shape{user->layer.config, {}, {}};
  return lesson::TrainedLayer{
      shape, plan::load_user_weights(*user, shape),
      fmt::format("{}, layer {}", shown_path(user->path), shown_text(user->layer.layer))};
}

lesson::Choices choices_of(const ExplainOptions& options) {
  constexpr std::int64_t kMostSeed = 0xFFFFFFFF;
  lesson::Choices choices;
  choices.layer = trained_layer(options);
  if (options.heads && !choices.layer) choices.heads = parse_number("--heads", *options.heads);
  if (options.seed) {
    const std::int64_t seed = parse_number("--seed", *options.seed, 0);
    if (seed > kMostSeed) {
      throw InvalidArgument(fmt::format("--seed: {} is not below 2^32", *options.seed));
    }
    choices.seed = static_cast<std::uint32_t>(seed);
  }
  if (options.input) choices.own = lesson::read_input(*options.input);
  return choices;
}

int list_examples(const ExplainOptions& options) {
  if (options.json) {
    out().print("{}\n", headroom::to_text(lesson::examples_json()));
  } else {
    out().write(lesson::examples_text());
  }
  return kDone;
}

// @return false if it was stopped
bool write_page(const std::string& path, const lesson::Lesson& lesson,
                machine::LimitKernelsOf limits_of) {
  write_file(path, lesson::page_of(lesson, {}));  // what cannot be written is an error at once
  if (!lesson.products) return true;
  install_signal_handlers();
  complain("note", "measuring wrapper and split for the page");
  measure::Progress progress;
  const std::vector<lesson::ShapeTimes> times = lesson::time_formulations(limits_of, progress);
  if (stop_signal() != 0) return false;
  write_file(path, lesson::page_of(lesson, times));
  return true;
}

int run(const ExplainOptions& options, machine::LimitKernelsOf limits_of) {
  const bool chosen = options.example || options.input || options.axes.given("weights");
  if (!chosen) {
    if (!options.heads && !options.seed && !options.page) return list_examples(options);
    throw InvalidArgument(
        "explain: name an example, such as split, or --input FILE, or --weights FILE; without "
        "options it lists the examples");
  }
  const lesson::Lesson lesson =
      lesson::make_lesson(options.example.value_or(kExampleOfInput), choices_of(options));
  if (options.page && !write_page(*options.page, lesson, limits_of))
    return kSignalBase + stop_signal();
  if (options.json) {
    out().print("{}\n", headroom::to_text(lesson::to_json(lesson)));
  } else if (options.page) {
    out().print("{}\n", shown_text(*options.page));
  } else {
    out().write(lesson::to_text(lesson));
  }
  return lesson.passed ? kDone : kCheckFailed;
}

}  // namespace

Command add_explain(CLI::App& app, machine::LimitKernelsOf limits_of) {
  CLI::App* command = app.add_subcommand(
      "explain", "walk through attention step by step, with every shape and value");
  const auto options = std::make_shared<ExplainOptions>();
  add_place(*command, "EXAMPLE", options->example,
            "an example (default: list them, or split with --input or --weights)");
  add_value(
      *command, "--input", options->input, "FILE",
      "your own numbers: a text table with a word and its numbers on each line, or a .npy file");
  add_value(
      *command, "--heads", options->heads, "N",
      "number of heads; divides the width. With --weights, where config.json does not say it");
  add_value(*command, "--seed", options->seed, "N",
            "seed of the weights (default: the textbook's)");
  add_value(*command, "--page", options->page, "FILE",
            "write the lesson as one page, with times of wrapper and split");
  command->add_flag("--json", options->json, "print JSON, with every number");
  options->axes.add_to(*command, plan::AxesOptions::Which::weights);
  add_examples(*command,
               "  headroom explain                            lists the examples\n"
               "  headroom explain split --page lesson.html");
  return {command, [options, limits_of] { return run(*options, limits_of); }};
}

}  // namespace headroom::cli
