// The fields are in the order of Google Benchmark's own reporter (version 1.7 and later). We cannot
// use that reporter: it describes the machine it runs on, which need not be the one that measured.
#include "judge/verdict.hpp"
#include "program/json_text.hpp"
#include "show/export.hpp"

namespace headroom::show {
namespace {

using nlohmann::ordered_json;

ordered_json context_of(const record::ResultsFolder& folder) {
  const ordered_json& environment = folder.environment;
  const ordered_json load = value_at(environment, "/conditions/load");
  ordered_json context{
      {"date", value_at(environment, "/time")},
      {"executable", "headroom"},
      {"num_cpus", value_at(environment, "/processor/hardware_threads")},
      {"caches", ordered_json::array()},
      {"load_avg", ordered_json::array()},
      {"library_build_type",
       value_at(environment, "/build/build_type") == "Release" ? "release" : "debug"},
      {"json_schema_version", 1}};
  if (load.is_number()) context["load_avg"].push_back(load);
  for (const auto& [key, place] : {std::pair{"processor", "/processor/name"},
                                   {"isa", "/isa"},
                                   {"unit", "/unit"},
                                   {"git_revision", "/build/git_revision"}}) {
    const ordered_json value = value_at(environment, place);
    if (value.is_string()) context[key] = value;
  }
  // The file itself gives no other hint of these two facts.
  context["cpu_time"] = "not measured; repeats real_time";
  context["iterations"] = "not recorded; given as 1 per repetition";
  return context;
}

ordered_json entry_of(const record::CellResult& result, std::size_t family,
                      const std::string& suffix) {
  // headroom-bench measures wall-clock time, and Google Benchmark then appends this to the name.
  const std::string run_name = result.cell.id + "/real_time";
  ordered_json entry{{"name", run_name + suffix},
                     {"family_index", family},
                     {"per_family_instance_index", 0},
                     {"run_name", run_name}};
  if (result.peer) entry["label"] = "peer";
  return entry;
}

void add_time(ordered_json& entry, const record::CellResult& result, double seconds) {
  entry["real_time"] = 1e9 * seconds;
  entry["cpu_time"] = 1e9 * seconds;
  entry["time_unit"] = "ns";
  entry["GFLOP/s"] = 1e-9 * result.shape.flops().total() / seconds;
  entry["nrmse"] = result.error->nrmse;
}

// Of one pass, by sample.
void add_usage(ordered_json& entry, const record::CellResult& result, std::size_t sample) {
  if (!result.used) return;
  for (const machine::UsageKind& kind : machine::kUsageKinds) {
    const std::vector<double>& samples = result.used->samples.*kind.samples;
    if (!samples.empty()) entry[kind.name] = samples.at(sample);
  }
}

void add_repetitions(const record::CellResult& result, std::size_t family, ordered_json& entries) {
  const std::vector<double>& samples = result.time.samples;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ordered_json entry = entry_of(result, family, "");
    entry["run_type"] = "iteration";
    entry["repetitions"] = samples.size();
    entry["repetition_index"] = i;
    entry["threads"] = 1;
    entry["iterations"] = 1;
    add_time(entry, result, samples[i]);
    add_usage(entry, result, i);
    entries.push_back(std::move(entry));
  }
}

ordered_json aggregate(const record::CellResult& result, std::size_t family, const char* name) {
  ordered_json entry = entry_of(result, family, std::string("_") + name);
  entry["run_type"] = "aggregate";
  entry["repetitions"] = result.time.samples.size();
  entry["threads"] = 1;
  entry["aggregate_name"] = name;
  entry["aggregate_unit"] = "time";
  entry["iterations"] = result.time.samples.size();
  return entry;
}

void add_aggregates(const record::CellResult& result, std::size_t family, ordered_json& entries) {
  const std::vector<double>& samples = result.time.samples;
  if (samples.size() < 2) return;
  const double middle = statistics::mean(samples);
  const double deviation = statistics::standard_deviation(samples);
  for (const auto& [name, seconds] : {std::pair{"mean", middle}, {"median", result.time.median}}) {
    ordered_json entry = aggregate(result, family, name);
    add_time(entry, result, seconds);
    entries.push_back(std::move(entry));
  }
  // The other two have no rate, because a deviation is not the time of a pass.
  ordered_json spread = aggregate(result, family, "stddev");
  spread["real_time"] = spread["cpu_time"] = 1e9 * deviation;
  spread["time_unit"] = "ns";
  entries.push_back(std::move(spread));
  ordered_json variation = aggregate(result, family, "cv");
  variation["aggregate_unit"] = "percentage";
  variation["real_time"] = variation["cpu_time"] = deviation / middle;
  variation["time_unit"] = "ns";
  entries.push_back(std::move(variation));
}

}  // namespace

std::string export_google_benchmark(const record::ResultsFolder& folder) {
  ordered_json entries = ordered_json::array();
  std::size_t family = 0;
  for (const record::CellResult* result : record::in_order(folder)) {
    if (result->status != record::Status::ok) continue;
    add_repetitions(*result, family, entries);
    add_aggregates(*result, family, entries);
    ++family;
  }
  const ordered_json all{{"context", context_of(folder)}, {"benchmarks", std::move(entries)}};
  return to_text(all, 2) + "\n";
}

}  // namespace headroom::show
