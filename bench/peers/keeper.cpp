#include "keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/headroom.hpp"
#include "json/read_numbers.hpp"
#include "json/shape_json.hpp"
#include "judge/cautions.hpp"
#include "judge/noise.hpp"
#include "machine/conditions.hpp"
#include "measure/control_meters.hpp"
#include "measure/group/cell_result.hpp"
#include "measure/group/check.hpp"
#include "measure/group/heads_layout.hpp"
#include "measure/roofs.hpp"
#include "plan/estimate.hpp"
#include "plan/shapes/op.hpp"
#include "processor/cores.hpp"
#include "program/json_text.hpp"
#include "protocol.hpp"
#include "record/environment.hpp"
#include "record/journal.hpp"
#include "record/result.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "reference/oracle_cost.hpp"

namespace headroom::peers {
namespace {

using nlohmann::ordered_json;

// Backends that are expected to take more than this times the fastest are not worth their time.
constexpr double kWorthwhile = 4;

class Keeper {
 public:
  explicit Keeper(machine::LimitKernelsOf limits_of)
      : target_(select_target()),
        limits_of_(limits_of),
        meters_(limits_of == nullptr ? machine::LimitKernels() : limits_of(target_)) {}

  ordered_json problem(const JsonFields& request);
  ordered_json backends_for(const JsonFields& request) const;
  ordered_json begin(const JsonFields& request);
  ordered_json check(const JsonFields& request);
  ordered_json control(const JsonFields& request);
  ordered_json result(const JsonFields& request);
  ordered_json finish(const JsonFields& request);

 private:
  void set_times(const JsonFields& request, record::CellResult& result) const;

  Target target_;
  machine::LimitKernelsOf limits_of_;
  measure::ControlMeters meters_;
  std::unique_ptr<record::Journal> journal_;
  ordered_json environment_;
  record::Peaks peaks_;
  std::vector<record::CellResult> results_;

  std::uint64_t seed_ = 1;
  Case shape_;
  std::map<std::int64_t, reference::Expected> expected_;              // by input
  std::map<std::string, std::vector<reference::Comparison>> checks_;  // by name
};

void round_to_bf16(std::vector<float>& values) {
  for (float& value : values) value = headroom::round_to_bf16(value).value();
}

std::set<Precision> precisions_of(const JsonFields& settings) {
  std::set<Precision> precisions;
  if (!settings.has("numbers")) return precisions;
  for (const ordered_json& name : settings.at("numbers")) {
    const std::optional<Numbers> numbers = record::numbers_named(name.get<std::string>());
    if (!numbers) settings.fail("numbers", "a list of names such as f32 and bf16x6");
    precisions.insert(numbers->precision);
  }
  return precisions;
}

// A program of the user's own says nothing of them and is held to f32.
Numbers numbers_of(const JsonFields& request) {
  Numbers numbers;
  if (request.has("precision")) numbers.precision = read_precision(request);
  if (request.has("dtype")) numbers.dtype = read_dtype(request);
  return numbers;
}

// What each available backend computes as it is asked to, by the names of cells.
ordered_json computed_numbers(const Target& target) {
  ordered_json all = ordered_json::object();
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    ordered_json& names = all[info.name] = ordered_json::array();
    for (const Precision precision : kAllPrecisions) {
      for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
        if (arithmetic_of(info.name, {precision, dtype}, target).precision != precision) continue;
        names.push_back(headroom::to_string(Numbers{precision, dtype}));
      }
    }
  }
  return all;
}

// Sizes of a layer whose output projection has its own width, or of attention alone.
Case shape_of(const JsonFields& request) {
  Case shape;
  shape.batch = request.whole("batch", 1);
  shape.tokens = request.whole("tokens", 1);
  shape.d_out = request.whole("width", 1);
  shape.heads = request.whole("heads", 1);
  if (request.has("past")) shape.past = request.whole("past", 0);
  const auto op = request.has("op") ? plan::parse_op(request.text("op")) : plan::Op::layer;
  if (!op) request.fail("op", "layer or attention");
  if (op == plan::Op::layer) shape.d_in = shape.d_proj = shape.d_out;
  if (op == plan::Op::layer && shape.past > 0) request.fail("past", "0 for a layer");
  shape.validate();
  return shape;
}

void write_weights(const std::filesystem::path& folder, const SplitWeights& weights) {
  write_floats(folder / "query.f32", weights.query.values);
  write_floats(folder / "key.f32", weights.key.values);
  write_floats(folder / "value.f32", weights.value.values);
  write_floats(folder / "output.f32", weights.output.values);
  write_floats(folder / "output_bias.f32", weights.output_bias);
}

void write_and_round(const std::filesystem::path& file, Matrix& matrix, bool rounded) {
  if (rounded) round_to_bf16(matrix.values);
  write_floats(file, matrix.values);
}

// Writes weights and inputs for the peers, and expects the outputs of the first input and the last:
// a peer that mistakes one input for another must not pass.
ordered_json Keeper::problem(const JsonFields& request) {
  expected_.clear();
  checks_.clear();
  shape_ = shape_of(request);
  const bool layer = shape_.has_projections();
  seed_ = static_cast<std::uint64_t>(request.whole("seed", 0));
  const std::filesystem::path folder = request.text("folder");
  SplitWeights weights = measure::drawn_weights(shape_, seed_);
  const bool rounded = request.has("rounded") && request.at("rounded") == true;
  if (rounded) {
    for (Matrix* matrix : {&weights.query, &weights.key, &weights.value, &weights.output}) {
      round_to_bf16(matrix->values);
    }
    round_to_bf16(weights.output_bias);
  }
  Matrix key, value;
  if (layer) {
    write_weights(folder, weights);
  } else {
    key = measure::gaussian_keys(shape_, seed_ + 1);
    value = measure::gaussian_values(shape_, seed_ + 1);
    write_and_round(folder / "key.f32", key, rounded);
    write_and_round(folder / "value.f32", value, rounded);
  }
  const std::int64_t inputs = request.whole("inputs", 1, 64);
  for (std::int64_t i = 0; i < inputs; ++i) {
    const std::uint64_t seed = seed_ + 1 + static_cast<std::uint64_t>(i);
    Matrix x = layer ? gaussian_input(shape_.rows(), shape_, seed)
                     : measure::gaussian_queries(shape_, seed);
    write_and_round(input_file(folder, i), x, rounded);
    if (i != 0 && i != inputs - 1) continue;
    const auto rows = reference::affordable_rows(shape_, plan::kCheckFlops, seed_);
    reference::Inputs given{.x = std::as_const(x).view()};
    given.key = std::as_const(key).view();
    given.value = std::as_const(value).view();
    reference::Expected& expected = expected_[i];
    expected = reference::attention(shape_, weights, given, rows, allowed_cores());
    if (layer) continue;
    for (const Precision coarse : {Precision::bf16x3, Precision::bf16}) {
      reference::add_coarse_bound(shape_, weights, given, coarse, allowed_cores(), expected);
    }
  }
  ordered_json checked = ordered_json::array();
  for (const auto& [input, _] : expected_) checked.push_back(input);
  return {{"shape", to_json(shape_)}, {"id", shape_.id()}, {"checked_inputs", checked}};
}

// Those that can use the threads and are expected to be anywhere near the fastest.
ordered_json Keeper::backends_for(const JsonFields& request) const {
  const auto threads = static_cast<int>(request.whole("threads", 1, kMaxThreads));
  std::map<std::string, double> seconds;
  for (const BackendInfo& info : backends()) {
    if (!info.available || (threads > 1 && !info.threaded)) continue;
    plan::Cell cell;
    cell.backend = info.name;
    cell.threads = threads;
    seconds[info.name] = plan::Estimator().forward_seconds(shape_, cell);
  }
  ordered_json names = ordered_json::array();
  for (const auto& [name, time] : seconds) {
    const bool worthwhile = std::all_of(
        seconds.begin(), seconds.end(),
        [&, time = time](const auto& other) { return time <= kWorthwhile * other.second; });
    if (worthwhile) names.push_back(name);
  }
  return {{"backends", names}, {"numbers", computed_numbers(target_)}};
}

// Peers stand among the backends, so that a report names their versions and comparisons see when
// they differ.
void add_peers(ordered_json& backends, const ordered_json& peers) {
  for (const auto& [name, peer] : peers.items()) {
    const std::string skipped = text_at(peer, "/skipped", "");
    const std::string version = text_at(peer, "/version", "");
    backends.push_back({{"name", name},
                        {"available", skipped.empty()},
                        {"reason", skipped.empty() ? ordered_json(nullptr) : ordered_json(skipped)},
                        {"description", "a peer of scripts/peers, not part of headroom"},
                        {"library", version},
                        {"threaded", true}});
  }
}

// Everything that reads the folder takes these names for other libraries.
void refuse_our_names(const JsonFields& request) {
  std::vector<std::string> ours{std::string(kAuto)};
  for (const BackendInfo& info : backends()) ours.push_back(info.name);
  for (const auto& [name, _] : request.at("peers").items()) {
    if (std::find(ours.begin(), ours.end(), name) == ours.end()) continue;
    throw InvalidArgument(
        fmt::format("--peer: '{}' is a backend of headroom; give the peer another name", name));
  }
}

ordered_json Keeper::begin(const JsonFields& request) {
  refuse_our_names(request);
  std::set<int> threads;
  for (const ordered_json& count : request.at("threads")) threads.insert(count.get<int>());
  environment_ = record::describe_environment(target_);
  environment_["sweep"] = request.at("settings");
  environment_["peers"] = request.at("peers");
  add_peers(environment_["backends"], request.at("peers"));
  environment_["warnings"] =
      judge::cautions_before(machine::current_conditions(), record::is_release_build());
  journal_ = std::make_unique<record::Journal>(request.text("out"));
  peaks_ = measure::measure_peaks(target_, threads, limits_of_);
  measure::measure_products(peaks_, threads, precisions_of(request.object("settings")), limits_of_);
  environment_["peaks"] = to_json(peaks_);
  journal_->write_environment(environment_);
  return {{"warnings", environment_["warnings"]}};
}

ordered_json Keeper::check(const JsonFields& request) {
  const auto expected = expected_.find(request.whole("input", 0));
  if (expected == expected_.end()) request.fail("input", "one of checked_inputs");
  const reference::Data data = measure::judged_as(shape_, reference::Data::standard);
  reference::Comparison comparison;
  try {
    Matrix y;
    y.rows = shape_.rows();
    y.cols = shape_.output_width();
    y.values = read_floats(request.text("file"), y.rows * y.cols);
    comparison =
        reference::compare(expected->second, std::as_const(y).view(), data, numbers_of(request));
  } catch (const std::runtime_error& error) {
    comparison.reason = error.what();
  }
  checks_[request.text("name")].push_back(comparison);
  return {{"passed", comparison.passed},
          {"reason", comparison.reason},
          {"nrmse", comparison.nrmse},
          {"max_over_rms", comparison.max_over_rms}};
}

ordered_json Keeper::control(const JsonFields& request) {
  const auto read = meters_.reader(static_cast<int>(request.whole("threads", 1, kMaxThreads)));
  if (!read) return ordered_json::object();
  const machine::Reading reading = read();
  ordered_json answer{{"gflops", reading.gflops}};
  if (reading.clock_ghz) answer["clock_ghz"] = *reading.clock_ghz;
  if (reading.tile_gflops) answer["tile_gflops"] = *reading.tile_gflops;
  return answer;
}

// The worst of all checks. Nothing if not every expected output was checked.
std::optional<reference::Comparison> worst(const std::vector<reference::Comparison>& checks,
                                           std::size_t wanted) {
  if (checks.empty()) return std::nullopt;
  const auto least =
      std::max_element(checks.begin(), checks.end(), [](const auto& a, const auto& b) {
        return std::pair(!a.passed, a.nrmse) < std::pair(!b.passed, b.nrmse);
      });
  if (least->passed && checks.size() < wanted) return std::nullopt;
  return *least;
}

void Keeper::set_times(const JsonFields& request, record::CellResult& result) const {
  result.time.samples = request.positives("seconds");
  result.time.processes = record::read_processes(request, "processes");
  if (request.has("control")) {
    record::Control& control = result.control.emplace();
    control.isa = to_string(target_.isa);
    control.threads = result.threads;
    control.gflops = request.positives("control");
    if (request.has("clock_ghz")) control.clock_ghz = request.positives("clock_ghz");
    if (request.has("tile_gflops")) control.tile_gflops = request.positives("tile_gflops");
  }
  if (request.has("again")) {
    record::Again& again = result.again.emplace();
    again.samples = request.positives("again");
    if (request.has("again_control")) again.control = request.positives("again_control");
    again.processes = record::read_processes(request, "again_processes");
  }
  measure::rate_samples(result, {}, seed_);
}

// Without a check that passed, a cell gets no time, whatever was measured.
ordered_json Keeper::result(const JsonFields& request) {
  if (!journal_) throw InvalidArgument("result: nothing was begun; send begin first");
  record::CellResult result;
  plan::Cell& cell = result.cell;
  cell.backend = request.text("backend");
  result.shape = shape_;
  record::read_way(request, result);
  cell.numbers = numbers_of(request);
  cell.threads = result.threads = static_cast<int>(request.whole("threads", 1, kMaxThreads));
  cell.id = plan::cell_id(shape_, cell);
  result.isa = request.text("isa");
  result.unit = request.text("unit");
  result.error = worst(checks_[request.text("name")], expected_.size());
  result.checked_rows = static_cast<std::int64_t>(expected_.begin()->second.rows.size());
  result.costs = AttentionCosts{request.not_negative("setup_s"), request.whole("packed_bytes", 0),
                                request.whole("workspace_bytes", 0), request.text("project"),
                                request.text("attend")};
  result.status = record::Status::failed;
  if (request.has("reason")) {
    result.reason = request.text("reason");
    const auto status = record::parse_status(request.text("status"));
    if (!status || *status == record::Status::ok) request.fail("status", "one without a time");
    result.status = *status;
  } else if (!result.error) {
    result.reason = "its output was not checked";
  } else if (!result.error->passed) {
    result.reason = "wrong result: " + result.error->reason;
  } else {
    set_times(request, result);
    result.reason = judge::beyond_peak(result);
    if (result.reason.empty()) result.status = record::Status::ok;
  }
  journal_->append(to_json(result));
  results_.push_back(result);
  // Chosen before the samples were taken; peers are compared with it.
  if (request.has("chosen") && request.at("chosen") == true) {
    environment_["sweep"]["compared_with"].push_back(cell.id);
    journal_->write_environment(environment_);
  }
  return {{"id", cell.id},
          {"status", to_string(result.status)},
          {"reason", result.reason},
          {"median", result.time.median},
          {"gflops", result.gflops}};
}

ordered_json Keeper::finish(const JsonFields& request) {
  if (!journal_) throw InvalidArgument("finish: nothing was begun; send begin first");
  environment_["ended"] = record::utc_now();
  environment_["sweep"]["cells"] = results_.size();
  environment_["peers"] = request.at("peers");
  for (const std::string& caution :
       judge::cautions_after(results_, request.not_negative("stolen"), peaks_)) {
    environment_["warnings"].push_back(caution);
  }
  journal_->write_environment(environment_);
  return {{"warnings", environment_["warnings"]}};
}

}  // namespace

void serve_keeper(machine::LimitKernelsOf limits_of) {
  Keeper keeper(limits_of);
  serve({{"problem", [&](const JsonFields& request) { return keeper.problem(request); }},
         {"backends", [&](const JsonFields& request) { return keeper.backends_for(request); }},
         {"begin", [&](const JsonFields& request) { return keeper.begin(request); }},
         {"check", [&](const JsonFields& request) { return keeper.check(request); }},
         {"control", [&](const JsonFields& request) { return keeper.control(request); }},
         {"result", [&](const JsonFields& request) { return keeper.result(request); }},
         {"finish", [&](const JsonFields& request) { return keeper.finish(request); }}});
}

}  // namespace headroom::peers
