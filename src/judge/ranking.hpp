// Cells held against each other: pairs of any kind, and the rivals of a shape from the fastest on.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "judge/verdict.hpp"
#include "record/result.hpp"

namespace headroom::judge {

/// Two cells with a time each.
struct CellPair {
  const record::CellResult* base = nullptr;
  const record::CellResult* next = nullptr;
};

struct CellDifference {
  Difference difference;    ///< next / base
  bool by_control = false;  ///< of samples divided by their control readings
  double raw_ratio = 1;     ///< of the medians as they were timed
};

/// What the samples of each pair say, the p-values corrected for all pairs together. Where both
/// cells were measured against the same control, the samples are divided by its readings first.
/// @param noise_floor see `SamplePair`
std::vector<CellDifference> compare_cells(const std::vector<CellPair>& pairs, double noise_floor,
                                          const CompareSettings& settings = {});

/// Pairs that are compared all at once, since the correction for many tests is for everything that
/// one table or report claims.
class Comparisons {
 public:
  using Answer = std::function<void(const CellDifference&)>;

  /// Asks how `cell` stands against `baseline`; `run` answers. Nothing is asked without a baseline,
  /// of a cell against itself, or of one without a time.
  void add(const record::CellResult* baseline, const record::CellResult& cell, Answer answer);

  /// @param noise_floor see `SamplePair`
  void run(double noise_floor, const CompareSettings& settings = {}) const;

  std::size_t size() const { return pairs_.size(); }

 private:
  std::vector<CellPair> pairs_;
  std::vector<Answer> answers_;
};

/// What a speed-up over the baseline is taken against: the cell of that backend with the same
/// formulation. Null if it has no time. @param rivals the cells of one shape
const record::CellResult* baseline_of(const std::vector<const record::CellResult*>& rivals,
                                      const record::CellResult& cell);

/// What split weights are held against: the `wrapper` cell of the same backend and threads.
/// Likewise.
const record::CellResult* wrapper_of(const std::vector<const record::CellResult*>& rivals,
                                     const record::CellResult& cell);

/// A cell beside the fastest of its shape.
struct Ranked {
  const record::CellResult* result = nullptr;
  Difference to_best;  ///< time / time of the fastest; for the fastest itself a ratio of 1, `same`

  /// Whether noise alone may have put it behind the fastest, or it differs by less than matters.
  bool tied() const { return to_best.verdict != Verdict::slower; }
};

/// Of each shape, the cells that have a time, the smallest median first; shapes in the order of
/// their first cell. The p-values are corrected for all cells of all shapes together.
std::vector<std::vector<Ranked>> rank(const std::vector<const record::CellResult*>& results,
                                      double noise_floor, const CompareSettings& settings = {});

}  // namespace headroom::judge
