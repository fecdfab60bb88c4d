// What is known about a cell once it is done, and the line that records it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/attention.hpp"
#include "plan/cache_state.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/control.hpp"
#include "reference/comparator.hpp"
#include "statistics/samples.hpp"

namespace headroom::record {

enum class Status { ok, unsupported, skipped, failed, crashed };

std::string_view to_string(Status status);

/// Measured, or tried, and found wrong: `failed` or `crashed`.
bool is_broken(Status status);

/// Inverse of `to_string`; empty for an unknown name.
std::optional<Status> parse_status(std::string_view name);

/// Seconds of one forward pass.
struct TimeSummary {
  double median = 0;
  double min = 0;
  statistics::Interval ci95;
  std::vector<double> samples;
};

TimeSummary summarise(const std::vector<double>& samples, std::uint64_t seed);

struct CellResult {
  plan::Cell cell;
  Shape shape;
  Status status = Status::ok;
  std::string reason;  ///< of every status but `ok`
  int threads = 1;
  std::string isa;
  plan::CacheState cache = plan::CacheState::warm;
  plan::CellEstimate estimate;

  TimeSummary time;  ///< of `ok` alone, as are the next five
  double gflops = 0;
  std::optional<double> peak_fraction;  ///< of the FMA rate with as many threads
  std::optional<Control> control;       ///< where there is a control kernel
  std::optional<Again> again;           ///< of one rival of a shape
  PhaseTimes phases;

  std::optional<Choice> choice;                ///< of the backend `auto`
  std::optional<AttentionCosts> costs;         ///< once the layer was made
  std::optional<reference::Comparison> error;  ///< once it was checked
  std::int64_t checked_rows = 0;

  bool has_time() const { return status == Status::ok; }
};

/// A line of `results.jsonl`.
nlohmann::ordered_json to_json(const CellResult& result);

/// What `to_json` wrote, every value checked; fields that it does not know are passed over. What a
/// line does not hold keeps its default: the place among rivals, a forced instruction set, the
/// dropout seed.
/// @throws InvalidArgument naming the field, what was found there and what is allowed.
CellResult from_json(const nlohmann::ordered_json& line);

nlohmann::ordered_json to_json(const reference::Comparison& comparison);

}  // namespace headroom::record
