// A user's own input through a layer of their own weights, or of a model's sizes and rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/attention.hpp"
#include "measure/group/problem.hpp"
#include "plan/axes.hpp"
#include "plan/cell.hpp"
#include "program/fresh_file.hpp"
#include "record/result.hpp"
#include "reference/comparator.hpp"

namespace headroom::run {

struct RunRequest {
  plan::Axes axes;
  std::optional<std::filesystem::path> input;   ///< without one, it is random
  std::optional<std::filesystem::path> output;  ///< without one, the result is dropped
  bool check = false;                           ///< against the oracle
  int repetitions = 9;
  std::uint64_t seed = 1;  ///< of random weights and input, and of the rows that are checked
  std::optional<std::int64_t> max_memory;
};

/// Input, weights and the rivals, all found to fit together.
struct PreparedRun {
  plan::Plan plan;  ///< one group
  measure::Problem problem;
  std::vector<std::int64_t> dims;  ///< of the input as it was, but for its last one
  std::unique_ptr<FreshFile> output;

  const plan::Group& group() const { return plan.groups.front(); }
  /// Null for random ones.
  const plan::UserWeights* weights() const { return group().weights.get(); }
};

/// @throws FileError for a bad input or bad weights; InvalidArgument for axes that do not fit them;
///         ResourceError if a rival does not fit into memory, or the output cannot be written.
PreparedRun prepare_run(const RunRequest& request);

/// What one rival did.
struct RivalOutcome {
  plan::Cell cell;
  record::Status status = record::Status::ok;
  std::string reason;  ///< for every status but `ok`
  record::TimeSummary time;
  AttentionCosts costs;
  AttentionOptions options;                    ///< as they took effect
  std::optional<reference::Comparison> error;  ///< with `check`
  bool wrote = false;                          ///< its result is the output
};

/// Runs one rival after the other: once for its result, which is looked at and, with `check`,
/// compared; then for its time. The first result that is good becomes the output.
/// @param done gets each outcome as it is there
/// @param stopped asked between rivals and samples
void run_rivals(PreparedRun& run, const RunRequest& request,
                const std::function<void(const RivalOutcome&)>& done,
                const std::function<bool()>& stopped);

}  // namespace headroom::run
