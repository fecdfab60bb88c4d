// Reads a line of results.jsonl into a CellResult. A file may come from anywhere, so every value is
// checked before it is used.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "headroom/error.hpp"
#include "json/json_fields.hpp"
#include "json/read_numbers.hpp"
#include "json/shape_json.hpp"
#include "record/result.hpp"

namespace headroom::record {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "headroom.cell/1";

std::vector<int> processes_of(const JsonFields& fields, std::size_t samples) {
  std::vector<int> processes = read_processes(fields, "processes");
  if (!processes.empty() && processes.size() != samples) {
    fields.fail("processes", fmt::format("nothing, or the process of each of {} samples", samples));
  }
  return processes;
}

TimeSummary read_time(const JsonFields& fields) {
  TimeSummary time;
  time.median = fields.positive("median");
  time.min = fields.positive("min");
  time.samples = fields.positives("samples");
  time.processes = processes_of(fields, time.samples.size());
  const std::vector<double> interval = fields.positives("ci95");
  if (interval.size() != 2 || interval[0] > interval[1]) {
    fields.fail("ci95", "a lower and an upper bound");
  }
  time.ci95 = {interval[0], interval[1]};
  return time;
}

// Machines that do not tell it have none.
std::vector<double> read_if_there(const JsonFields& fields, const char* key, std::size_t samples) {
  if (!fields.has(key)) return {};
  std::vector<double> readings = fields.positives(key);
  if (readings.size() != samples) {
    fields.fail(key, fmt::format("nothing, or a reading for each of {} samples", samples));
  }
  return readings;
}

Control read_control(const JsonFields& fields, std::size_t samples) {
  if (fields.text("kernel") != "fma") fields.fail("kernel", "fma");
  Control control;
  control.isa = fields.text("isa");
  control.threads = static_cast<int>(fields.whole("threads", 1, std::numeric_limits<int>::max()));
  control.gflops = fields.positives("gflops");
  if (control.gflops.size() != samples) {
    fields.fail("gflops", fmt::format("one reading per sample, {} in all", samples));
  }
  control.tile_gflops = read_if_there(fields, "tile_gflops", samples);
  control.clock_ghz = read_if_there(fields, "clock_ghz", samples);
  return control;
}

Again read_again(const JsonFields& fields) {
  Again again;
  again.ratio = fields.positive("ratio");
  again.samples = fields.positives("samples");
  if (fields.at("control_gflops") != ordered_json::array()) {
    again.control = fields.positives("control_gflops");
  }
  again.processes = processes_of(fields, again.samples.size());
  return again;
}

PhaseTimes read_phases(const JsonFields& fields) {
  return {fields.not_negative("qkv"), fields.not_negative("attend"), fields.not_negative("output"),
          fields.has("sum") ? fields.not_negative("sum") : 0};
}

AttentionCosts read_costs(const JsonFields& line) {
  AttentionCosts costs;
  costs.setup_seconds = line.not_negative("setup_s");
  costs.packed_bytes = line.whole("packed_bytes", 0);
  costs.workspace_bytes = line.whole("workspace_bytes", 0);
  const JsonFields provenance = line.object("provenance");
  costs.project_provenance = provenance.text("project");
  costs.attend_provenance = provenance.text("attend");
  if (provenance.has("heads")) {
    if (provenance.text("heads") != kPackedTogether) provenance.fail("heads", kPackedTogether);
    costs.packs_heads_together = true;
  }
  return costs;
}

void read_choice(const JsonFields& fields, CellResult& result) {
  Choice& choice = result.choice.emplace();
  choice.backend = fields.text("backend");
  choice.formulation = result.cell.formulation;
  choice.reason = fields.text("reason");
  const std::string source = fields.text("source");
  using Source = Choice::Source;
  for (const Source known : {Source::caller, Source::tuning_file, Source::rule}) {
    if (to_string(known) == source) choice.source = known;
  }
  if (to_string(choice.source) != source) fields.fail("source", "caller, tuning file or rule");
  result.cell.chosen = choice.backend;
  choice.precision = result.cell.numbers.precision;
  if (fields.has("precision_asked")) {
    if (fields.text("precision_asked") != kAnyLikeF32) fields.fail("precision_asked", "auto");
    result.cell.any_precision = true;
    choice.precision_reason = fields.text("precision_reason");
  }
}

reference::Comparison read_error(const JsonFields& fields, const CellResult& result) {
  const bool passed = result.status == Status::ok;
  // A wrong result may be NaN or infinite, which JSON writes as null.
  const auto value = [&](const char* key) {
    if (!passed && fields.has(key) && !fields.has_value(key)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return fields.not_negative(key);
  };
  reference::Comparison error;
  error.limits = reference::limits_of(result.cell.numbers);
  error.nrmse = value("nrmse");
  error.max_over_rms = value("max_over_rms");
  if (fields.has("bound_ratio")) {
    error.data = reference::Data::adversarial;
    error.bound_ratio = value("bound_ratio");
  } else {
    if (fields.has("limit")) error.limits.nrmse = fields.not_negative("limit");
    if (fields.has("max_over_rms_limit")) {
      error.limits.max_over_rms = fields.not_negative("max_over_rms_limit");
    }
  }
  error.passed = passed;
  if (result.status == Status::failed) error.reason = result.reason;
  return error;
}

reference::AttentionShift read_shift(const JsonFields& fields) {
  const reference::AttentionShift shift{fields.not_negative("moved"),
                                        fields.not_negative("kl_divergence")};
  if (shift.moved > 1) fields.fail("moved", "a share of the rows, at most 1");
  return shift;
}

void read_identity(const JsonFields& line, CellResult& result) {
  plan::Cell& cell = result.cell;
  cell.id = line.text("id");
  if (cell.id.empty()) line.fail("id", "the name of the cell");
  read_way(line, result);
  cell.backend = line.text("backend");
  if (cell.backend.empty()) line.fail("backend", "the name of a backend");
  cell.numbers = read_numbers(line);
  result.threads = static_cast<int>(line.whole("threads", 1, std::numeric_limits<int>::max()));
  cell.threads = result.threads;
  cell.ranks = static_cast<int>(line.whole("ranks", 1, plan::kMaxRanks));
  result.isa = line.text("isa");
  result.unit = line.text("unit");
  const std::optional<plan::CacheState> cache = plan::parse_cache_state(line.text("cache"));
  if (!cache) line.fail("cache", "warm or cold");
  result.cache = *cache;
  if (!line.has("warnings")) return;
  const ordered_json& warnings = line.at("warnings");
  if (!warnings.is_array()) line.fail("warnings", "a list of texts");
  for (const ordered_json& warning : warnings) {
    if (!warning.is_string()) line.fail("warnings", "a list of texts");
    cell.warnings.push_back(warning.get<std::string>());
  }
}

void read_status(const JsonFields& line, CellResult& result) {
  const std::optional<Status> status = parse_status(line.text("status"));
  if (!status) line.fail("status", "ok, unsupported, skipped, failed or crashed");
  result.status = *status;
  if (result.status == Status::ok) {
    if (line.has_value("reason")) line.fail("reason", "null if the status is ok");
    return;
  }
  result.reason = line.text("reason");
  if (result.reason.empty()) line.fail("reason", "why the cell has no time");
  for (const char* key : {"time_s", "gflops"}) {
    if (line.has(key)) line.fail(key, "nothing unless the status is ok");
  }
}

void read_measured(const JsonFields& line, CellResult& result) {
  const bool ok = result.status == Status::ok;
  if (ok) {
    result.time = read_time(line.object("time_s"));
    result.gflops = line.not_negative("gflops");
    if (line.has_value("peak_fraction")) result.peak_fraction = line.not_negative("peak_fraction");
    if (line.has_value("tile_fraction")) result.tile_fraction = line.not_negative("tile_fraction");
    if (line.has_value("read_gbps")) {
      result.reading = {line.whole("bytes", 0), line.not_negative("read_gbps")};
      if (line.has_value("read_fraction")) {
        result.reading->fraction = line.not_negative("read_fraction");
      }
    }
    if (line.has_value("control")) {
      result.control = read_control(line.object("control"), result.time.samples.size());
    }
    if (line.has_value("again")) result.again = read_again(line.object("again"));
    result.used = read_usage(line, result.time.samples);
    result.phases = read_phases(line.object("phases_s"));
  }
  // A number without its check is worthless: an `ok` line must have all of these.
  if (ok || line.has("setup_s")) result.costs = read_costs(line);
  if (line.has_value("key_value_cache")) {
    const JsonFields cache = line.object("key_value_cache");
    result.cached = {cache.whole("bytes", 0), cache.not_negative("fill_s")};
  }
  if (line.has_value("choice")) read_choice(line.object("choice"), result);
  if (ok || line.has("error")) {
    result.error = read_error(line.object("error"), result);
    result.checked_rows = line.object("checked_rows").whole("checked", 0, result.shape.rows());
  }
  if (line.has("storage_nrmse")) result.storage_error = line.not_negative("storage_nrmse");
  if (line.has("attention_shift")) {
    result.attention_shift = read_shift(line.object("attention_shift"));
  }
  if (line.has("estimate")) {
    const JsonFields estimate = line.object("estimate");
    result.estimate = {estimate.whole("bytes", 0), estimate.not_negative("seconds")};
  }
}

}  // namespace

void read_way(const JsonFields& fields, CellResult& result) {
  const std::string name = fields.text("formulation");
  if (!result.shape.has_projections()) {
    if (name == result.way()) return;
    fields.fail("formulation", fmt::format("{}, as the shape has no d_in", result.way()));
  }
  const std::optional<Formulation> formulation = parse_formulation(name);
  if (!formulation) fields.fail("formulation", "wrapper, split or fused");
  result.cell.formulation = *formulation;
}

std::vector<int> read_processes(const JsonFields& fields, const char* key) {
  constexpr std::int64_t kMost = 1'000'000;
  if (!fields.has(key)) return {};
  const std::vector<std::int64_t> numbers = fields.wholes(key, 0, kMost);
  return {numbers.begin(), numbers.end()};
}

CellResult from_json(const ordered_json& line) {
  const JsonFields fields(line, "");
  if (fields.text("schema") != kSchema) {
    fields.fail("schema", fmt::format("{}; read it with the headroom that wrote it", kSchema));
  }
  CellResult result;
  result.shape = shape_from_json(fields.object("shape"));
  read_identity(fields, result);
  read_status(fields, result);
  read_measured(fields, result);
  return result;
}

}  // namespace headroom::record
