// A sweep from its axes to its results folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "machine/meters/peak.hpp"
#include "measure/crew/crew.hpp"
#include "measure/settings.hpp"
#include "plan/axes.hpp"
#include "plan/cache_state.hpp"
#include "plan/cell.hpp"
#include "plan/shard.hpp"
#include "record/environment.hpp"
#include "record/identity.hpp"
#include "record/result.hpp"

namespace headroom::measure {

/// What the user asked for. A value that is not given takes its default.
struct SweepRequest {
  plan::Axes axes;
  bool allow_many = false;  ///< more than `plan::kMaxCells`
  int ranks_here = 1;       ///< see `plan::ExpandOptions::ranks_here`
  Crew* crew = nullptr;     ///< if processes were started for ranks; must outlive the sweep
  std::optional<plan::Shard> shard;
  std::vector<std::string> only;  ///< ids of cells; empty: all of the axes
  std::optional<int> repetitions;
  std::optional<int> processes;    ///< that take the samples of a cell
  std::optional<double> min_time;  ///< seconds per sample
  std::optional<double> budget;    ///< seconds for everything
  std::optional<double> timeout;   ///< see `Settings::timeout`
  std::optional<std::int64_t> max_memory;
  std::uint64_t seed = 1;
  plan::CacheState cache = plan::CacheState::warm;
  machine::LimitKernelsOf limits_of = nullptr;  ///< null if this build has no kernels
  machine::UsageSources usage = {};             ///< where energy and counters are read
};

/// A plan with its settings, and the identity by which `--resume` and `merge` recognise it.
struct PreparedSweep {
  plan::Plan plan;
  Settings settings;
  record::SweepIdentity identity;
  int repetitions_asked = 0;
  std::optional<std::int64_t> memory_asked;
  machine::LimitKernelsOf limits_of = nullptr;
  machine::UsageSources usage;

  /// About how many seconds it takes, with the limits of the machine that are measured first.
  double seconds(const plan::Limits& limits) const;

  /// What `environment.json` says about it, without the peaks, which take a while to measure.
  nlohmann::ordered_json environment(const std::vector<std::string>& warnings) const;
};

/// Writes nothing and measures nothing.
/// @throws as `plan::expand` and `require_cores`; InvalidArgument for cold caches or more than one
///         process of samples where there are ranks; Unavailable for cold caches if this build has
///         no kernels; ResourceError if memory is too small to empty them.
PreparedSweep prepare_sweep(const SweepRequest& request);

struct SweepOutcome {
  std::vector<record::CellResult> results;  ///< grouped by shape, including resumed cells
  std::size_t cells = 0;                    ///< of the whole plan
  record::Peaks peaks;
  std::vector<std::string> cautions;  ///< observations that put the times in doubt
};

/// Where a sweep writes its results and its messages.
struct SweepTarget {
  std::filesystem::path folder;
  bool resume = false;
  std::function<void(const std::string& warning)> warn;
  std::function<void(const std::string& note)> note;
};

/// Measures the missing cells and records each as it finishes. Installs signal handlers.
/// @throws ResourceError if the folder cannot be written; InvalidArgument if it holds another
/// sweep.
SweepOutcome run_sweep(PreparedSweep sweep, const SweepTarget& target);

}  // namespace headroom::measure
