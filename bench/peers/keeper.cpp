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
#include "json/shape_json.hpp"
#include "judge/cautions.hpp"
#include "judge/noise.hpp"
#include "machine/conditions.hpp"
#include "measure/control_meters.hpp"
#include "measure/group/cell_result.hpp"
#include "measure/roofs.hpp"
#include "plan/estimate.hpp"
#include "posed_problem.hpp"
#include "program/json_text.hpp"
#include "protocol.hpp"
#include "record/environment.hpp"
#include "record/journal.hpp"
#include "record/result.hpp"
#include "reference/comparator.hpp"

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

  PosedProblem problem_;
  std::map<std::string, std::vector<Judged>> checks_;  // by name
};

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

// What each available backend computes as it is asked to, by the names of cells.
ordered_json computed_numbers(const Case& shape, const Target& target) {
  ordered_json all = ordered_json::object();
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    ordered_json& names = all[info.name] = ordered_json::array();
    for (const Numbers& numbers : record::all_numbers()) {
      Arithmetic does = arithmetic_of(info.name, numbers, target);
      if (!shape.has_projections()) does = does.of_attention();
      if (does.precision != numbers.precision) continue;
      names.push_back(headroom::to_string(numbers));
    }
  }
  return all;
}

ordered_json Keeper::problem(const JsonFields& request) {
  checks_.clear();
  problem_ = PosedProblem(request);
  const Case& shape = problem_.shape();
  return {
      {"shape", to_json(shape)}, {"id", shape.id()}, {"checked_inputs", problem_.checked_inputs()}};
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
    seconds[info.name] = plan::Estimator().forward_seconds(problem_.shape(), cell);
  }
  ordered_json names = ordered_json::array();
  for (const auto& [name, time] : seconds) {
    const bool worthwhile = std::all_of(
        seconds.begin(), seconds.end(),
        [&, time = time](const auto& other) { return time <= kWorthwhile * other.second; });
    if (worthwhile) names.push_back(name);
  }
  return {{"backends", names}, {"numbers", computed_numbers(problem_.shape(), target_)}};
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
  const Judged judged = problem_.judge(request);
  checks_[request.text("name")].push_back(judged);
  const reference::Comparison& comparison = judged.comparison;
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

// The worst of all checks, and the largest distance to unrounded weights, whichever output has it.
// Nothing if not every expected output was checked.
std::optional<Judged> worst(const std::vector<Judged>& checks, std::size_t wanted) {
  if (checks.empty()) return std::nullopt;
  const auto least =
      std::max_element(checks.begin(), checks.end(), [](const Judged& a, const Judged& b) {
        return std::pair(!a.comparison.passed, a.comparison.nrmse) <
               std::pair(!b.comparison.passed, b.comparison.nrmse);
      });
  if (least->comparison.passed && checks.size() < wanted) return std::nullopt;
  Judged worst = *least;
  for (const Judged& judged : checks) {
    worst.to_unrounded = std::max(worst.to_unrounded, judged.to_unrounded);
  }
  return worst;
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
  measure::rate_samples(result, {}, problem_.seed());
}

// Without a check that passed, a cell gets no time, whatever was measured.
ordered_json Keeper::result(const JsonFields& request) {
  if (!journal_) throw InvalidArgument("result: nothing was begun; send begin first");
  record::CellResult result;
  plan::Cell& cell = result.cell;
  cell.backend = request.text("backend");
  result.shape = problem_.shape();
  record::read_way(request, result);
  cell.numbers = asked_numbers(request);
  cell.threads = result.threads = static_cast<int>(request.whole("threads", 1, kMaxThreads));
  cell.id = plan::cell_id(result.shape, cell);
  result.isa = request.text("isa");
  result.unit = request.text("unit");
  if (const auto judged = worst(checks_[request.text("name")], problem_.checked_inputs().size())) {
    result.error = judged->comparison;
    result.storage_error = judged->to_unrounded;
  }
  result.checked_rows = problem_.checked_rows();
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
