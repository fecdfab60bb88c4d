// Backend `auto`: chosen from a tuning file or by rule.
#include "attention/choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/choice/auto_request.hpp"
#include "attention/choice/tuning_source.hpp"
#include "backends/backend.hpp"
#include "core/element/layer_numbers.hpp"
#include "core/element/numbers_of.hpp"
#include "core/nearest.hpp"
#include "core/text/names.hpp"
#include "headroom/error.hpp"
#include "processor/cores.hpp"
#include "tuning/rule.hpp"

namespace headroom {
namespace {

constexpr Name<Choice::Source> kSources[] = {{Choice::Source::caller, "caller"},
                                             {Choice::Source::tuning_file, "tuning file"},
                                             {Choice::Source::rule, "rule"}};

std::string where_in(const TuningSource& source, const tuning::Prediction& found) {
  return fmt::format("fastest in {} around {}, {:.1f} doublings away (shapes asked: {})",
                     source.path(), found.nearest.id(), found.distance, found.shapes);
}

// What the file compared; with one alone there was nothing to compare.
std::string precision_words(const TuningSource& source, const tuning::Prediction& found) {
  std::vector<std::string_view> names;
  for (const Precision each : found.precisions) names.push_back(to_string(each));
  if (names.size() == 1) {
    return fmt::format("of what is as exact as f32, {} has times of {} alone", source.path(),
                       names.front());
  }
  return fmt::format("fastest of {} in {}", fmt::join(names, ", "), source.path());
}

}  // namespace

std::string_view to_string(Choice::Source source) { return name_of(kSources, source); }

int wanted_threads(const AttentionOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    throw InvalidArgument(
        fmt::format("threads is {}; allowed is 0 (every allowed core) or 1 to {}, and this process "
                    "may use {} cores",
                    options.threads, kMaxThreads, allowed_cores()));
  }
  return options.threads == 0 ? std::min(allowed_cores(), kMaxThreads) : options.threads;
}

AttentionOptions resolve(const AttentionOptions& options, const Choice& choice) {
  AttentionOptions resolved = options;
  resolved.backend = choice.backend;
  resolved.formulation = choice.formulation;
  const int threads = wanted_threads(options);
  resolved.threads = backend_entry(choice.backend).describe().threaded ? threads : 1;
  const Target target = select_target(options.isa, options.unit);
  resolved.isa = target.isa;
  resolved.unit = target.unit;
  if (!resolved.precision) resolved.precision = choice.precision;
  resolved.weights_dtype = numbers_of(options).weights;
  resolved.cache_dtype = numbers_of(options).cache;
  return resolved;
}

void set_arithmetic(const Arithmetic& does, Choice& choice) {
  choice.precision = does.precision.value_or(choice.precision);
  if (!does.reason.empty()) choice.precision_reason = does.reason;
  choice.unit = does.unit;
}

std::unique_ptr<Backend> make_backend(const AttentionOptions& options, Choice& choice) {
  BackendConfig config{options.threads, Target{*options.isa, *options.unit}, choice.kernels,
                       choice.precision, options.dtype};
  config.weights = numbers_of(options).stored_weights();
  config.cache = numbers_of(options).stored_cache();
  if (!choice.few_rows_reason.empty()) config.few_rows = choice.few_rows;
  std::unique_ptr<Backend> backend = backend_entry(choice.backend).make(config);
  const KernelChoice kernels = backend->kernels();
  choice.kernels = kernels.name;
  choice.few_rows = kernels.few_rows;
  if (!kernels.reason.empty()) choice.kernels_reason = kernels.reason;
  if (!kernels.few_rows_reason.empty()) choice.few_rows_reason = kernels.few_rows_reason;
  return backend;
}

namespace {

[[noreturn]] void fail_kernels(const std::string& backend, const std::string& name,
                               const std::vector<std::string>& known) {
  throw InvalidArgument(
      known.empty()
          ? fmt::format("kernels: backend '{}' has no variants; leave '{}' out", backend, name)
          : fmt::format("kernels: backend '{}' has no variant '{}'; {}", backend, name,
                        suggest(name, known)));
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The tuning file's word on the kernels, if it has one; a file that cannot be used is a warning.
void ask_file_for_kernels(TuningSource& source, const std::vector<std::string>& known,
                          std::string_view isa, int threads, Choice& choice) {
  const tuning::TuningFile* file = source.file(choice);
  const tuning::TunedKernels* tuned = file != nullptr ? file->kernels_for(isa, threads) : nullptr;
  if (tuned == nullptr) return;
  std::string why_not = tuning::stale_reason(*file);
  if (why_not.empty() && !has(known, tuned->variant)) {
    why_not = fmt::format("this program has no variant '{}'", tuned->variant);
  }
  if (!why_not.empty()) {
    choice.warning =
        fmt::format("the kernels of {} are not used: {}; write it again with headroom tune",
                    source.path(), why_not);
    return;
  }
  choice.kernels = tuned->variant;
  const std::string where = fmt::format("in {} with {} thread{}", source.path(), tuned->threads,
                                        tuned->threads == 1 ? "" : "s");
  choice.kernels_reason = "fastest " + where;
  for (const tuning::TunedBorder& border : tuned->borders) {
    if (border.precision != choice.precision || border.unit != to_string(choice.unit)) continue;
    choice.few_rows = border.few_rows;
    choice.few_rows_reason = "measured " + where;
  }
}

// @param warn whether a file that cannot be used is worth a word: for `auto` it was said already
void choose_kernels(const AttentionOptions& options, TuningSource& source, bool warn,
                    Choice& choice) {
  const BackendFacts& facts = backend_entry(choice.backend).facts();
  const Isa isa = select_isa(options.isa);
  std::vector<std::string> known;
  if (facts.kernel_variants != nullptr) known = facts.kernel_variants(isa);
  if (!options.kernels.empty()) {
    if (!has(known, options.kernels)) fail_kernels(choice.backend, options.kernels, known);
    choice.kernels = options.kernels;
    choice.kernels_reason = "named by the caller";
  } else if (!known.empty()) {
    const bool threaded = backend_entry(choice.backend).describe().threaded;
    const int threads = threaded ? wanted_threads(options) : 1;
    ask_file_for_kernels(source, known, to_string(isa), threads, choice);
    if (is_few_bits(numbers_of(options).stored_weights())) {
      choice.few_rows_reason.clear();  // borders of a file are those of weights that are cut once
    }
    if (warn && !choice.warning.empty() && options.on_warning) options.on_warning(choice.warning);
  }
  if (options.few_rows && choice.unit != Unit::none) {
    choice.few_rows = *options.few_rows;
    choice.few_rows_reason = "given by the caller";
  }
}

// With the one word of warning that a file is worth.
void finish(const AttentionOptions& options, TuningSource& source, Choice& choice) {
  if (!choice.warning.empty() && options.on_warning) options.on_warning(choice.warning);
  choose_kernels(options, source, choice.warning.empty(), choice);
}

// What the backend makes of the precision and the dtype that are asked for, or were chosen.
void settle_precision(const AttentionOptions& options, Choice& choice) {
  const Numbers numbers = numbers_of(options, options.precision.value_or(choice.precision));
  const Arithmetic does =
      arithmetic_of(choice.backend, numbers, select_target(options.isa, options.unit));
  if (!does.precision) {
    throw Unsupported(fmt::format("backend '{}' does not compute in {} with {} stored: {}",
                                  choice.backend, to_string(numbers.precision),
                                  stored_words(numbers), does.reason));
  }
  set_arithmetic(does, choice);
}

void take_precision(const TuningSource& source, const tuning::Prediction& found, Choice& choice) {
  choice.precision = found.best->numbers.precision;
  choice.precision_reason = precision_words(source, found);
}

void take_precision_by_rule(const tuning::Request& request, Choice& choice) {
  const auto usable = request.usable.find(choice.backend);
  if (usable == request.usable.end()) return;  // that it has none is said when it is settled
  const tuning::RulePrecision rule = tuning::precision_by_rule(request.shape, usable->second);
  choice.precision = rule.precision;
  choice.precision_reason = rule.reason;
}

// Checks all that the layer would check, so that a program can ask before it makes weights.
Choice choose_named(const Case& shape, const AttentionOptions& options, TuningSource& source) {
  wanted_threads(options);
  const BackendEntry& entry = backend_entry(options.backend);
  select_target(options.isa, options.unit);
  if (const auto reason = entry.declines(shape)) {
    throw Unsupported(
        fmt::format("backend '{}' declines {}: {}", options.backend, shape.id(), *reason));
  }
  Choice choice{options.backend, options.formulation.value_or(Formulation::split),
                Choice::Source::caller, "named by the caller", ""};
  if (!options.precision) {
    AttentionOptions as_made = options;
    as_made.formulation = choice.formulation;
    const tuning::Request request = auto_request(shape, as_made, wanted_threads(options));
    if (const auto found = source.fastest(request, choice)) {
      take_precision(source, *found, choice);
    } else {
      take_precision_by_rule(request, choice);
    }
  }
  settle_precision(options, choice);
  finish(options, source, choice);
  return choice;
}

}  // namespace

Choice choose_backend(const LayerConfig& config, const CallSizes& largest,
                      const AttentionOptions& options) {
  const Case shape{config, largest, {}};
  shape.validate();
  if (options.few_rows && *options.few_rows < 0) {
    throw InvalidArgument(
        fmt::format("few_rows: {} is not possible; give 0 or more", *options.few_rows));
  }
  if (options.dtype == Dtype::f16) {
    throw InvalidArgument(
        "dtype: f16 is read from weights, and nothing is stored as it; allowed are f32 and bf16");
  }
  if (numbers_of(options).weights && config.is_latent()) {
    throw Unsupported(
        fmt::format("weights_dtype: those of a layer with latents are stored as x and y are, here "
                    "{}; steps over "
                    "latents multiply them the other way round, across the groups of {}",
                    to_string(options.dtype), to_string(*options.weights_dtype)));
  }
  if (options.cache_dtype == Storage::q4) {
    throw InvalidArgument(
        "cache_dtype: keys and values are not stored as q4; allowed are f32, bf16 and q8");
  }
  TuningSource source(options);
  if (options.backend != kAuto) return choose_named(shape, options, source);
  const tuning::Request request = auto_request(shape, options, wanted_threads(options));
  const Numbers numbers = numbers_of(options);
  if (request.usable.empty() && numbers != Numbers{}) {
    throw Unavailable(
        fmt::format("auto: no backend of this program computes {} here that also takes {}; choose "
                    "other numbers",
                    to_string(numbers), shape.id()));
  }
  Choice choice;
  if (const auto found = source.fastest(request, choice)) {
    choice.backend = found->best->backend;
    choice.formulation = found->best->formulation;
    choice.source = Choice::Source::tuning_file;
    choice.reason = where_in(source, *found);
    if (!options.precision) take_precision(source, *found, choice);
  } else {
    const tuning::RuleChoice rule = tuning::choose_by_rule(request);
    choice.backend = rule.backend;
    choice.formulation = rule.formulation;
    choice.source = Choice::Source::rule;
    choice.reason = rule.reason;
    if (!options.precision) take_precision_by_rule(request, choice);
  }
  settle_precision(options, choice);
  finish(options, source, choice);
  return choice;
}

}  // namespace headroom
