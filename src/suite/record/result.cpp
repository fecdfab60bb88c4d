#include "record/result.hpp"

#include <algorithm>

#include "core/text/names.hpp"
#include "json/read_numbers.hpp"
#include "json/shape_json.hpp"

namespace headroom::record {

using nlohmann::ordered_json;

constexpr Name<Status> kStatuses[] = {{Status::ok, "ok"},
                                      {Status::unsupported, "unsupported"},
                                      {Status::skipped, "skipped"},
                                      {Status::failed, "failed"},
                                      {Status::crashed, "crashed"}};

std::string_view to_string(Status status) { return name_of(kStatuses, status); }

bool is_broken(Status status) { return status == Status::failed || status == Status::crashed; }

std::optional<Status> parse_status(std::string_view name) { return value_of(kStatuses, name); }

TimeSummary summarise(const std::vector<double>& samples, const std::vector<int>& processes,
                      std::uint64_t seed) {
  const statistics::SamplesByProcess apart = statistics::by_process(samples, processes);
  return {statistics::pooled_median(apart), *std::min_element(samples.begin(), samples.end()),
          statistics::bootstrap_median_ci95(apart, seed), samples, processes};
}

std::string CellResult::contest() const {
  const Numbers rivals = accuracy_class(cell.numbers);
  return rivals == Numbers{} ? shape.id() : shape.id() + " " + headroom::to_string(rivals);
}

statistics::SamplesByProcess samples_of(const CellResult& result, bool by_control) {
  const TimeSummary& time = result.time;
  return statistics::by_process(
      by_control ? steadied(time.samples, result.control->gflops) : time.samples, time.processes);
}

ordered_json to_json(const reference::Comparison& comparison) {
  ordered_json json{{"nrmse", comparison.nrmse}, {"max_over_rms", comparison.max_over_rms}};
  if (comparison.by_element()) {
    json["bound_ratio"] = comparison.bound_ratio;
    json["limit"] = reference::kBoundLimit;
  } else {
    json["limit"] = comparison.limits.nrmse;
    json["max_over_rms_limit"] = comparison.limits.max_over_rms;
  }
  return json;
}

ordered_json to_json(const reference::AttentionShift& shift) {
  return {{"moved", shift.moved}, {"kl_divergence", shift.divergence}};
}

namespace {

void add_times(const CellResult& result, ordered_json& line) {
  const TimeSummary& time = result.time;
  line["time_s"] = {{"median", time.median},
                    {"ci95", {time.ci95.low, time.ci95.high}},
                    {"min", time.min},
                    {"samples", time.samples}};
  if (!time.processes.empty()) line["time_s"]["processes"] = time.processes;
  line["flops"] = result.shape.flops().total();
  line["gflops"] = result.gflops;
  line["peak_fraction"] =
      result.peak_fraction ? ordered_json(*result.peak_fraction) : ordered_json(nullptr);
  if (result.tile_fraction) line["tile_fraction"] = *result.tile_fraction;
  if (result.reading) {
    line["bytes"] = result.reading->bytes;
    line["read_gbps"] = result.reading->gbps;
    if (result.reading->fraction) line["read_fraction"] = *result.reading->fraction;
  }
  if (result.control) {
    line["control"] = {{"kernel", "fma"},
                       {"isa", result.control->isa},
                       {"threads", result.control->threads},
                       {"gflops", result.control->gflops}};
    if (!result.control->tile_gflops.empty()) {
      line["control"]["tile_gflops"] = result.control->tile_gflops;
    }
    if (!result.control->clock_ghz.empty()) {
      line["control"]["clock_ghz"] = result.control->clock_ghz;
    }
  }
  if (result.again) {
    line["again"] = {{"ratio", result.again->ratio},
                     {"samples", result.again->samples},
                     {"control_gflops", result.again->control}};
    if (!result.again->processes.empty()) line["again"]["processes"] = result.again->processes;
  }
  if (result.used) add_usage(*result.used, line);
  line["phases_s"] = {{"qkv", result.phases.qkv},
                      {"attend", result.phases.attend},
                      {"output", result.phases.output}};
  if (result.cell.ranks > 1) line["phases_s"]["sum"] = result.phases.sum;
}

void add_costs(const AttentionCosts& costs, ordered_json& line) {
  line["setup_s"] = costs.setup_seconds;
  line["packed_bytes"] = costs.packed_bytes;
  line["workspace_bytes"] = costs.workspace_bytes;
  line["provenance"] = {{"project", costs.project_provenance}, {"attend", costs.attend_provenance}};
  if (costs.packs_heads_together) line["provenance"]["heads"] = kPackedTogether;
}

}  // namespace

ordered_json to_json(const CellResult& result) {
  ordered_json line;
  line["schema"] = "headroom.cell/1";
  line["id"] = result.cell.id;
  line["status"] = to_string(result.status);
  line["reason"] = result.reason.empty() ? ordered_json(nullptr) : ordered_json(result.reason);
  line["formulation"] = result.way();
  line["backend"] = result.cell.backend;
  line["precision"] = headroom::to_string(result.cell.numbers.precision);
  line["dtype"] = headroom::to_string(result.cell.numbers.dtype);
  add_storage(result.cell.numbers, line);
  line["threads"] = result.threads;
  line["ranks"] = result.cell.ranks;
  line["isa"] = result.isa;
  line["unit"] = result.unit;
  line["cache"] = to_string(result.cache);
  line["shape"] = to_json(result.shape);
  if (result.has_time() && !result.time.samples.empty()) add_times(result, line);
  if (result.costs) add_costs(*result.costs, line);
  if (result.cached) {
    line["key_value_cache"] = {{"bytes", result.cached->bytes},
                               {"fill_s", result.cached->fill_seconds}};
  }
  if (result.choice) {
    line["choice"] = {{"backend", result.choice->backend},
                      {"source", headroom::to_string(result.choice->source)},
                      {"reason", result.choice->reason}};
    if (result.cell.any_precision) {
      line["choice"]["precision_asked"] = kAnyLikeF32;
      line["choice"]["precision_reason"] = result.choice->precision_reason;
    }
  }
  if (result.error) {
    line["error"] = to_json(*result.error);
    line["checked_rows"] = {{"checked", result.checked_rows}, {"of", result.shape.rows()}};
  }
  if (result.storage_error) line["storage_nrmse"] = *result.storage_error;
  if (result.attention_shift) line["attention_shift"] = to_json(*result.attention_shift);
  line["estimate"] = {{"bytes", result.estimate.bytes}, {"seconds", result.estimate.seconds}};
  if (!result.cell.warnings.empty()) line["warnings"] = result.cell.warnings;
  return line;
}

}  // namespace headroom::record
