// The processes that were started together to share the heads of a layer, as the first of them
// sees them. Who started them, and how they talk, is known elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/group/cell_layer.hpp"
#include "measure/group/problem.hpp"
#include "plan/cell.hpp"
#include "record/peaks.hpp"

namespace headroom::measure {

/// Where a rank runs.
struct RankPlace {
  std::string machine;
  int cores = 1;       ///< that it may use
  int processors = 1;  ///< of the machine
};

class Crew {
 public:
  virtual ~Crew() = default;

  virtual int size() const { return static_cast<int>(places().size()); }
  virtual const std::vector<RankPlace>& places() const = 0;

  /// Seconds until a rank that lives, but does not come, is taken for lost.
  virtual void set_patience(double seconds) = 0;

  /// A layer over the first `ranks` of them. Gives the others their weights and inputs, and ends
  /// their part with the layer.
  /// @param fill_tokens as `LocalLayer`
  /// @throws as `LocalLayer`, naming the rank that refuses
  virtual std::unique_ptr<CellLayer> make_layer(const Problem& problem,
                                                const AttentionOptions& options, int ranks,
                                                std::int64_t fill_tokens) = 0;

  /// What it takes to send something from one rank to the next. Takes about a second.
  virtual record::Link measure_link() = 0;
};

/// The layer of a cell, of this process or of several.
/// @param crew null if there is one process
std::unique_ptr<CellLayer> make_layer(const Problem& problem, const plan::Cell& cell, Crew* crew,
                                      std::int64_t fill_tokens = plan::kFillTokens);

/// @throws InvalidArgument if a rank is bound to fewer cores than a cell has threads, with what to
///         tell the launcher. A machine that has no more is no error.
void require_cores(const Crew& crew, const plan::Plan& plan);

}  // namespace headroom::measure
