#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "core/element/layer_numbers.hpp"
#include "core/environment_variable.hpp"
#include "core/regular_file.hpp"
#include "headroom/isa.hpp"
#include "machine/counters/energy_meter.hpp"
#include "machine/meters/peak.hpp"
#include "machine/processor.hpp"
#include "measure/roofs.hpp"
#include "processor/cores.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "record/environment.hpp"
#include "show/machine_words.hpp"
#include "tune/own_choices.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::cli {
namespace {

using nlohmann::ordered_json;

struct InfoOptions {
  bool json = false;
  bool measure = false;
  std::optional<std::string> ranks;
};

void print_processor(const ordered_json& info) {
  const ordered_json& processor = info["processor"];
  out().print("processor      {} ({}, {})\n", processor["name"].get<std::string>(),
              processor["vendor"].get<std::string>(), processor["architecture"].get<std::string>());
  out().print("features       {}\n",
              fmt::join(processor["features"].get<std::vector<std::string>>(), " "));
  std::vector<std::string> caches;
  for (const ordered_json& cache : processor["caches"]) {
    caches.push_back(fmt::format("{} {} x {}", cache["name"].get<std::string>(),
                                 cache["count"].get<int>(),
                                 format_bytes(cache["bytes"].get<std::int64_t>())));
  }
  caches.push_back(show::last_level_words(info));
  out().print("caches         {}\n", fmt::join(caches, ", "));
  out().print("cores          {} allowed, {} in the machine, {} hardware threads\n",
              info["allowed_cores"].get<int>(), processor["cores"].get<int>(),
              processor["hardware_threads"].get<int>());
  out().print("clock          {}\n", show::clock_words(info));
  out().print("memory         {} usable, limited by {}\n",
              format_bytes(info["memory"]["bytes"].get<std::int64_t>()),
              info["memory"]["limited_by"].get<std::string>());
}

void print_software(const ordered_json& info) {
  out().print("isa            {} (available: {})\n", info["isa"].get<std::string>(),
              fmt::join(info["available_isas"].get<std::vector<std::string>>(), ", "));
  out().print("unit           {}\n", show::unit_words(info));
  const ordered_json& build = info["build"];
  out().print("headroom       {} ({}), {} build, {}, flags {}\n",
              info["headroom"].get<std::string>(), build["git_revision"].get<std::string>(),
              build["build_type"].get<std::string>(), build["compiler"].get<std::string>(),
              build["flags"].get<std::string>());
  const std::string version = info["libraries"]["google_benchmark"].get<std::string>();
  out().print("measured by    Google Benchmark {}\n", version);
}

void print_conditions(const ordered_json& info) {
  const char* name = "conditions";
  for (const std::string& line : show::condition_lines(info)) {
    out().print("{:<14} {}\n", name, line);
    name = "";
  }
}

void print_backends(const ordered_json& info) {
  out().print("backends\n");
  for (const ordered_json& backend : info["backends"]) {
    const bool available = backend["available"].get<bool>();
    const std::string library = backend["library"].get<std::string>();
    out().print("  {:<8} {}{}\n", backend["name"].get<std::string>(),
                available ? backend["description"].get<std::string>()
                          : "not available: " + text_at(backend, "/reason"),
                available && !library.empty() ? " [" + library + "]" : "");
  }
}

ordered_json kernels_json() {
  const auto own = tune::own_choices();
  if (!own) return nullptr;
  ordered_json json{{"variant", own->f32.kernels}, {"reason", own->f32.kernels_reason}};
  const auto add = [&json](std::string_view asked, const Choice& choice) {
    json["precisions"][std::string(asked)] = {{"computed_as", to_string(choice.precision)},
                                              {"unit", to_string(choice.unit)},
                                              {"few_rows", choice.few_rows},
                                              {"few_rows_reason", choice.few_rows_reason},
                                              {"reason", choice.precision_reason}};
  };
  for (const auto& [precision, choice] : own->others) add(to_string(precision), choice);
  add(kAnyLikeF32, own->like_f32);
  return json;
}

void print_kernels(const ordered_json& kernels) {
  if (kernels.is_null()) return;
  out().print("kernels        {}: {}\n", text_at(kernels, "/variant"), text_at(kernels, "/reason"));
  for (const auto& [precision, choice] : kernels["precisions"].items()) {
    const bool by_unit = choice["unit"] != to_string(Unit::none);
    out().print(
        "  {:<12} {}\n", precision,
        by_unit ? fmt::format("{}by {}, from {} rows on ({})",
                              precision == kAnyLikeF32
                                  ? fmt::format("as {} ", text_at(choice, "/computed_as"))
                                  : "",
                              text_at(choice, "/unit"), choice["few_rows"].get<std::int64_t>() + 1,
                              text_at(choice, "/few_rows_reason"))
                : fmt::format("as {}: {}", text_at(choice, "/computed_as"),
                              text_at(choice, "/reason")));
  }
}

// The file that auto and the kernels will use, as far as this is known without a shape.
ordered_json tuning_json() {
  const std::string path = environment("HEADROOM_TUNING");
  if (path.empty()) return nullptr;
  ordered_json json{
      {"path", path}, {"shapes", nullptr}, {"kernels", nullptr}, {"problem", nullptr}};
  try {
    const tuning::TuningFile file = tuning::read_tuning(path);
    json["shapes"] = file.shapes.size();
    json["kernels"] = file.kernels.size();
    const std::string stale = tuning::stale_reason(file);
    if (!stale.empty()) json["problem"] = stale;
  } catch (const FileError& error) {
    json["problem"] = error.what();
  }
  return json;
}

void print_tuning(const ordered_json& tuning) {
  if (tuning.is_null()) {
    out().print("auto           uses its rule; HEADROOM_TUNING names no tuning file\n");
  } else if (tuning["problem"].is_null() && tuning["shapes"] == 0) {
    out().print("auto           uses its rule; {} is about kernels alone\n",
                tuning["path"].get<std::string>());
  } else if (tuning["problem"].is_null()) {
    out().print("auto           uses {}, shapes: {}\n", tuning["path"].get<std::string>(),
                tuning["shapes"].get<std::size_t>());
  } else {
    out().print("auto           uses its rule; {} is not used: {}\n",
                tuning["path"].get<std::string>(), tuning["problem"].get<std::string>());
  }
}

void print_peaks(const record::Peaks& peaks) {
  out().print("measured\n");
  for (const auto& entry : peaks.fma_gflops) {
    const int threads = entry.first;
    out().print("  FMA peak ({}), {}: {}\n", to_string(peaks.target.isa),
                counted(threads, "thread"), show::fma_peak_words(peaks, threads));
    for (const std::string& line : show::product_peak_lines(peaks, threads)) {
      out().print("  products of parts from the L1 ({}), {}: {}\n", to_string(peaks.target.unit),
                  counted(threads, "thread"), line);
    }
  }
  if (peaks.idle_watts) out().print("  idle power: {:.1f} W\n", *peaks.idle_watts);
  for (const auto& [threads, rate] : peaks.read_gbs) {
    out().print("  memory read, {}: {:.1f} GB/s\n", counted(threads, "thread"), rate);
  }
}

// The ranks of several machines, each with those that run there.
void print_ranks(const measure::Crew& crew, const record::Link& link) {
  std::map<std::string, int> ranks;
  for (const measure::RankPlace& place : crew.places()) ++ranks[place.machine];
  out().print("ranks          {} on {}\n", crew.size(),
              counted(static_cast<std::int64_t>(ranks.size()), "machine"));
  out().print("  link         {}, {:.1f} GB/s, from the sums that layers end with\n",
              format_seconds(link.latency_s), link.bytes_per_s * 1e-9);
}

int run(const InfoOptions& options, machine::LimitKernelsOf limits_of, measure::Crew* crew) {
  const Target target = select_target();
  ordered_json info = record::describe_environment(target);
  info["kernels"] = kernels_json();
  info["tuning"] = tuning_json();
  record::Peaks peaks;
  if (options.measure) {
    const std::set<int> threads{1, allowed_cores()};
    const auto idle = machine::idle_watts(machine::EnergyMeter(), machine::kIdleSeconds);
    peaks = measure::measure_peaks(target, threads, limits_of);
    try {
      measure::measure_products(peaks, threads, {kAllPrecisions.begin(), kAllPrecisions.end()},
                                limits_of);
    } catch (const Unavailable& error) {
      complain("warning", error.what());
    }
    peaks.idle_watts = idle;
    if (crew != nullptr && crew->size() > 1) peaks.link = crew->measure_link();
    info["peaks"] = to_json(peaks);
  }
  if (options.json) {
    out().print("{}\n", headroom::to_text(info, 2));
    return 0;
  }
  show_texts(info);
  print_processor(info);
  print_software(info);
  print_conditions(info);
  print_backends(info);
  print_kernels(info["kernels"]);
  print_tuning(info["tuning"]);
  if (options.measure) print_peaks(peaks);
  if (peaks.link) print_ranks(*crew, *peaks.link);
  return 0;
}

}  // namespace

Command add_info(CLI::App& app, machine::LimitKernelsOf limits_of, RunAsRank run_as_rank) {
  CLI::App* command = app.add_subcommand("info", "show what this machine and this program offer");
  const auto options = std::make_shared<InfoOptions>();
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--measure", options->measure,
                    "measure the FMA peak, its clock, the rate of register tiles and the read "
                    "bandwidth (takes some seconds)");
  add_value(
      *command, "--ranks", options->ranks, "N",
      "number of processes that mpirun -n started; with --measure, also the link between them");
  add_examples(*command,
               "  headroom info\n"
               "  headroom info --measure         also the limits of this machine: some seconds\n"
               "  headroom info --json");
  return {command, [options, limits_of, run_as_rank] {
            return with_ranks(options->ranks.has_value(), run_as_rank,
                              [&](measure::Crew* crew) { return run(*options, limits_of, crew); });
          }};
}

}  // namespace headroom::cli
