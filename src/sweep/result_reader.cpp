// A line of results.jsonl back into a CellResult. A file may come from anywhere: no value is
// believed before it was looked at.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "headroom/error.hpp"
#include "sweep/json_text.hpp"
#include "sweep/result.hpp"

namespace headroom::sweep {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "headroom.cell/1";

// What stands there, short enough for a message and without going into nested values.
std::string shown(const ordered_json& value) {
  constexpr std::size_t kMost = 60;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  const std::string text = to_text(value);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

// An object of the line, and where in the line it stands.
class Fields {
 public:
  Fields(const ordered_json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object_.is_object()) {
      throw InvalidArgument(fmt::format("{}: found {}; allowed is an object",
                                        path_.empty() ? "line" : path_, shown(object_)));
    }
  }

  bool has(const char* key) const { return object_.contains(key); }
  bool has_value(const char* key) const { return has(key) && !object_.at(key).is_null(); }

  [[noreturn]] void fail(const char* key, const std::string& allowed) const {
    throw InvalidArgument(fmt::format("{}: found {}; allowed is {}", name(key),
                                      has(key) ? shown(object_.at(key)) : "nothing", allowed));
  }

  const ordered_json& at(const char* key) const {
    if (!has(key)) fail(key, "a value: the line is not complete");
    return object_.at(key);
  }

  Fields object(const char* key) const { return {at(key), name(key)}; }

  std::string text(const char* key) const {
    if (!at(key).is_string()) fail(key, "text");
    return at(key).get<std::string>();
  }

  bool flag(const char* key) const {
    if (!at(key).is_boolean()) fail(key, "true or false");
    return at(key).get<bool>();
  }

  std::int64_t whole(const char* key, std::int64_t least,
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const {
    const ordered_json& value = at(key);
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() &&
                        value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) &&
                      value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
    if (!fits) fail(key, fmt::format("a whole number from {} to {}", least, most));
    return value.get<std::int64_t>();
  }

  double not_negative(const char* key) const {
    const double value = real(key, "a number of 0 and above");
    if (!(value >= 0)) fail(key, "a number of 0 and above");
    return value;
  }

  double positive(const char* key) const {
    const double value = real(key, "a number above 0");
    if (!(value > 0)) fail(key, "a number above 0");
    return value;
  }

  std::vector<double> positives(const char* key) const {
    constexpr const char* kAllowed = "a list of numbers above 0, at least one";
    const ordered_json& list = at(key);
    if (!list.is_array() || list.empty()) fail(key, kAllowed);
    std::vector<double> values;
    values.reserve(list.size());
    for (const ordered_json& value : list) {
      if (!value.is_number() || !(value.get<double>() > 0)) {
        throw InvalidArgument(fmt::format("{}: found {} in place {}; allowed is {}", name(key),
                                          shown(value), values.size(), kAllowed));
      }
      values.push_back(value.get<double>());
    }
    return values;
  }

 private:
  std::string name(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  // JSON has neither NaN nor infinity, and the parser refuses 1e999.
  double real(const char* key, const char* allowed) const {
    if (!at(key).is_number()) fail(key, allowed);
    return at(key).get<double>();
  }

  const ordered_json& object_;
  std::string path_;
};

Shape read_shape(const Fields& fields) {
  Shape shape;
  shape.batch = fields.whole("batch", 0);
  shape.tokens = fields.whole("tokens", 0);
  shape.d_in = fields.whole("d_in", 1);
  shape.d_out = fields.whole("d_out", 1);
  shape.heads = fields.whole("heads", 1);
  shape.causal = fields.flag("causal");
  shape.qkv_bias = fields.flag("qkv_bias");
  const bool projects = fields.flag("out_proj");
  // The contract's line has no d_proj; the projection then leads back to the input's width.
  shape.d_proj = fields.has("d_proj") ? fields.whole("d_proj", 0) : (projects ? shape.d_in : 0);
  shape.dropout = fields.not_negative("dropout");
  shape.validate();
  if (projects != (shape.d_proj > 0)) fields.fail("out_proj", "whether d_proj is above 0");
  if (fields.whole("head_dim", 1) != shape.head_dim()) {
    fields.fail("head_dim", fmt::format("d_out / heads = {}", shape.head_dim()));
  }
  return shape;
}

TimeSummary read_time(const Fields& fields) {
  TimeSummary time;
  time.median = fields.positive("median");
  time.min = fields.positive("min");
  time.samples = fields.positives("samples");
  const std::vector<double> interval = fields.positives("ci95");
  if (interval.size() != 2 || interval[0] > interval[1]) {
    fields.fail("ci95", "a lower and an upper bound");
  }
  time.ci95 = {interval[0], interval[1]};
  return time;
}

Control read_control(const Fields& fields, std::size_t samples) {
  if (fields.text("kernel") != "fma") fields.fail("kernel", "fma");
  Control control;
  control.isa = fields.text("isa");
  control.threads = static_cast<int>(fields.whole("threads", 1, std::numeric_limits<int>::max()));
  control.gflops = fields.positives("gflops");
  if (control.gflops.size() != samples) {
    fields.fail("gflops", fmt::format("a reading for each of {} samples", samples));
  }
  return control;
}

Again read_again(const Fields& fields) {
  Again again;
  again.ratio = fields.positive("ratio");
  again.samples = fields.positives("samples");
  if (fields.at("control_gflops") != ordered_json::array()) {
    again.control = fields.positives("control_gflops");
  }
  return again;
}

PhaseTimes read_phases(const Fields& fields) {
  return {fields.not_negative("qkv"), fields.not_negative("attend"), fields.not_negative("output")};
}

AttentionCosts read_costs(const Fields& line) {
  AttentionCosts costs;
  costs.setup_seconds = line.not_negative("setup_s");
  costs.packed_bytes = line.whole("packed_bytes", 0);
  costs.workspace_bytes = line.whole("workspace_bytes", 0);
  const Fields provenance = line.object("provenance");
  costs.project_provenance = provenance.text("project");
  costs.attend_provenance = provenance.text("attend");
  return costs;
}

reference::Comparison read_error(const Fields& fields, const CellResult& result) {
  const bool passed = result.status == Status::ok;
  // A wrong result may be NaN or infinite, which JSON writes as null.
  const auto value = [&](const char* key) {
    if (!passed && fields.has(key) && !fields.has_value(key)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return fields.not_negative(key);
  };
  reference::Comparison error;
  error.nrmse = value("nrmse");
  error.max_over_rms = fields.has("max_over_rms") ? value("max_over_rms") : 0;
  error.passed = passed;
  if (result.status == Status::failed) error.reason = result.reason;
  return error;
}

void read_identity(const Fields& line, CellResult& result) {
  Cell& cell = result.cell;
  cell.id = line.text("id");
  if (cell.id.empty()) line.fail("id", "the name of the cell");
  const std::optional<Formulation> formulation = parse_formulation(line.text("formulation"));
  if (!formulation) line.fail("formulation", "wrapper, split or fused");
  cell.formulation = *formulation;
  cell.backend = line.text("backend");
  if (cell.backend.empty()) line.fail("backend", "the name of a backend");
  if (line.text("dtype") != "f32") line.fail("dtype", "f32");
  result.threads = static_cast<int>(line.whole("threads", 1, std::numeric_limits<int>::max()));
  cell.threads = result.threads;
  result.isa = line.text("isa");
  if (line.has("cache")) {
    const std::optional<CacheState> cache = parse_cache_state(line.text("cache"));
    if (!cache) line.fail("cache", "warm or cold");
    result.cache = *cache;
  }
  if (!line.has("warnings")) return;
  const ordered_json& warnings = line.at("warnings");
  if (!warnings.is_array()) line.fail("warnings", "a list of texts");
  for (const ordered_json& warning : warnings) {
    if (!warning.is_string()) line.fail("warnings", "a list of texts");
    cell.warnings.push_back(warning.get<std::string>());
  }
}

void read_status(const Fields& line, CellResult& result) {
  const std::optional<Status> status = parse_status(line.text("status"));
  if (!status) line.fail("status", "ok, unsupported, skipped, failed or crashed");
  result.status = *status;
  if (result.status == Status::ok) {
    if (line.has_value("reason")) line.fail("reason", "null where the status is ok");
    return;
  }
  result.reason = line.text("reason");
  if (result.reason.empty()) line.fail("reason", "why the cell has no time");
  for (const char* key : {"time_s", "gflops"}) {
    if (line.has(key)) line.fail(key, "nothing where the status is not ok");
  }
}

void read_measured(const Fields& line, CellResult& result) {
  const bool ok = result.status == Status::ok;
  if (ok) {
    result.time = read_time(line.object("time_s"));
    result.gflops = line.not_negative("gflops");
    if (line.has_value("peak_fraction")) result.peak_fraction = line.not_negative("peak_fraction");
    if (line.has_value("control")) {
      result.control = read_control(line.object("control"), result.time.samples.size());
    }
    if (line.has_value("again")) result.again = read_again(line.object("again"));
    result.phases = read_phases(line.object("phases_s"));
  }
  // A number without its check is none: an `ok` line must have all of it.
  if (ok || line.has("setup_s")) result.costs = read_costs(line);
  if (ok || line.has("error")) {
    result.error = read_error(line.object("error"), result);
    const std::int64_t rows = result.shape.rows();
    result.checked_rows =
        line.has("checked_rows") ? line.object("checked_rows").whole("checked", 0, rows) : rows;
  }
  if (line.has("estimate")) {
    const Fields estimate = line.object("estimate");
    result.estimate = {estimate.whole("bytes", 0), estimate.not_negative("seconds")};
  }
}

}  // namespace

CellResult from_json(const ordered_json& line) {
  const Fields fields(line, "");
  if (fields.text("schema") != kSchema) {
    fields.fail("schema", fmt::format("{}; read it with the headroom that wrote it", kSchema));
  }
  CellResult result;
  read_identity(fields, result);
  read_status(fields, result);
  result.shape = read_shape(fields.object("shape"));
  read_measured(fields, result);
  return result;
}

}  // namespace headroom::sweep
