// What is known about a finished cell, and the line that records it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/attention.hpp"
#include "plan/cache_state.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/control.hpp"
#include "record/usage/used.hpp"
#include "reference/attention_shift.hpp"
#include "reference/comparator.hpp"
#include "statistics/intervals.hpp"

namespace headroom {
class JsonFields;
}

namespace headroom::record {

enum class Status { ok, unsupported, skipped, failed, crashed };

std::string_view to_string(Status status);

/// `failed` or `crashed`: the cell was run and found to be wrong.
bool is_broken(Status status);

/// Inverse of `to_string`; empty for an unknown name.
std::optional<Status> parse_status(std::string_view name);

/// Seconds per forward pass.
struct TimeSummary {
  double median = 0;
  double min = 0;
  statistics::Interval ci95;
  std::vector<double> samples;
  std::vector<int> processes = {};  ///< which process took each sample; empty if one took all
};

/// @param processes as in `TimeSummary`
TimeSummary summarise(const std::vector<double>& samples, const std::vector<int>& processes,
                      std::uint64_t seed);

/// The cache of a cell whose sequences have a past.
struct Cached {
  std::int64_t bytes = 0;
  double fill_seconds = 0;  ///< to fill it once, not part of any time
};

/// How fast a cell whose sequences bring few rows reads what it must, see `bytes_to_read`.
struct Reading {
  std::int64_t bytes = 0;               ///< weights, and the keys and values that it sees
  double gbps = 0;                      ///< of them, in its median time
  std::optional<double> fraction = {};  ///< of the bandwidth measured at that working set
};

/// `provenance.heads` of a line, where `AttentionCosts::packs_heads_together`.
inline constexpr const char* kPackedTogether = "packed together";

struct CellResult {
  plan::Cell cell;
  Case shape;
  Status status = Status::ok;
  std::string reason;  ///< for every status but `ok`
  int threads = 1;     ///< of each rank
  std::string isa;
  std::string unit = "none";  ///< who multiplied; nobody but f32 vectors where it is f32
  plan::CacheState cache = plan::CacheState::warm;
  plan::CellEstimate estimate;
  bool peer = false;  ///< of another library: never a baseline, never a winner, never to be linked

  TimeSummary time;  ///< only for `ok`, as are the next eight
  double gflops = 0;
  std::optional<double> peak_fraction;  ///< of the FMA rate on as many threads, times the ranks
  std::optional<double> tile_fraction;  ///< likewise of the register tiles beside the samples
  std::optional<Reading> reading;       ///< for few rows, where memory may be the limit
  std::optional<Control> control;       ///< if there is a control kernel
  std::optional<Again> again;           ///< for one rival per shape
  std::optional<Used> used;             ///< if the machine tells any of it
  PhaseTimes phases;

  std::optional<Choice> choice;                ///< for the backend `auto`
  std::optional<AttentionCosts> costs;         ///< set once the layer exists
  std::optional<Cached> cached;                ///< likewise, if the shape has a past
  std::optional<reference::Comparison> error;  ///< set once it was checked
  std::int64_t checked_rows = 0;
  /// What storing in fewer bits costs, beside the kernel's own error: the distance of the expected
  /// result to that of unrounded weights and inputs, `|o - r| / |r|`. Empty where none is rounded.
  std::optional<double> storage_error;
  /// Likewise of the attention weights; empty also where no row sees two keys.
  std::optional<reference::AttentionShift> attention_shift;

  /// As `plan::way_of`.
  std::string_view way() const { return plan::way_of(shape, cell); }
  bool has_time() const { return status == Status::ok; }
  /// How far its values may be from the exact result of what nobody rounded: the kernel's error and
  /// what storing costs, which at worst add up. @pre it was checked
  double whole_error() const { return error->nrmse + storage_error.value_or(0); }
  /// The name that all cells have with which it may be ranked: those of its shape and dtype that
  /// are held to the same limit of the error. Such as `B1_T1024_D768_H12`, or that and ` bf16`.
  std::string contest() const;
};

/// The samples of a cell by process. @param by_control as `steadied` by its own control
/// @pre it has a time, and with `by_control` a control.
statistics::SamplesByProcess samples_of(const CellResult& result, bool by_control);

/// A line of `results.jsonl`.
nlohmann::ordered_json to_json(const CellResult& result);

/// Reads what `to_json` wrote and checks every value. Unknown fields are ignored. What a line does
/// not hold keeps its default: the position among rivals, a forced instruction set, the dropout
/// seed.
/// @throws InvalidArgument naming the field, what was found there and what is allowed.
CellResult from_json(const nlohmann::ordered_json& line);

/// Reads `formulation` for the shape that the result has: its name, or `attention`.
/// @throws InvalidArgument as `from_json`.
void read_way(const JsonFields& fields, CellResult& result);

/// Which process or launch took each sample; empty without the key.
std::vector<int> read_processes(const JsonFields& fields, const char* key);

/// `limit` is that of `bound_ratio` where the bound of each element decides, else that of `nrmse`.
nlohmann::ordered_json to_json(const reference::Comparison& comparison);
nlohmann::ordered_json to_json(const reference::AttentionShift& shift);

}  // namespace headroom::record
