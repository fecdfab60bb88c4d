// A user's own input through a layer of their own weights, or of a model's sizes and rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/meters/peak.hpp"
#include "measure/observer.hpp"
#include "measure/settings.hpp"
#include "plan/axes.hpp"
#include "plan/cell.hpp"
#include "program/files/fresh_file.hpp"
#include "record/result.hpp"

namespace headroom::run {

struct RunRequest {
  plan::Axes axes;
  std::optional<std::filesystem::path> input;   ///< without one, it is random
  std::optional<std::filesystem::path> output;  ///< without one, the result is dropped
  bool check = false;                           ///< against the oracle, and with that the time
  std::optional<int> repetitions;               ///< samples of the time
  std::uint64_t seed = 1;  ///< of random weights and input, and of the rows that are checked
  std::optional<std::int64_t> max_memory;
  machine::LimitKernelsOf limits_of = nullptr;  ///< what runs beside each sample; may be null
};

/// Input, weights and the rivals, all found to fit together.
struct PreparedRun {
  plan::Plan plan;  ///< one group
  measure::Settings settings;
  bool checks = false;  ///< whether results are checked and timed: asked for, and there is a row
  std::vector<std::int64_t> dims;  ///< of the input as it was, but for its last one
  std::unique_ptr<FreshFile> output;

  const plan::Group& group() const { return plan.groups.front(); }
};

/// @throws FileError for a bad input or bad weights; InvalidArgument for axes that do not fit them;
///         ResourceError if a rival does not fit into memory, or the output cannot be written.
PreparedRun prepare_run(const RunRequest& request);

struct RunOutcome {
  /// By the order of the rivals; fewer than all if the observer stopped it. Without samples and
  /// errors if nothing was checked.
  std::vector<record::CellResult> results;
  bool wrote = false;      ///< the output
  std::size_t writer = 0;  ///< whose result the output then is
};

/// Without checks, each rival computes once, in this process. With them, they are measured as the
/// cells of a sweep are; then the output is computed here, and compared before it is written. The
/// first result that is good becomes the output.
RunOutcome run_rivals(PreparedRun& run, measure::Observer& observer);

}  // namespace headroom::run
