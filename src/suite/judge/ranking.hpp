// Compares cells: pairs of any kind, and the rivals of a shape in order of speed.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "judge/verdict.hpp"
#include "record/result.hpp"

namespace headroom::judge {

/// Two cells that both have a time.
struct CellPair {
  const record::CellResult* base = nullptr;
  const record::CellResult* next = nullptr;
};

struct CellDifference {
  Difference difference;    ///< next / base
  bool by_control = false;  ///< of samples corrected by their control readings
  double raw_ratio = 1;     ///< of the medians as timed
};

/// Compares the samples of each pair, with p-values corrected for all pairs together. If both cells
/// have the same control, the samples are corrected by its readings first.
/// @param noise_floor see `SamplePair`
std::vector<CellDifference> compare_cells(const std::vector<CellPair>& pairs, double noise_floor,
                                          const CompareSettings& settings = {});

/// Collects pairs and compares them all at once, because the correction for multiple tests must
/// cover everything that one table or report claims.
class Comparisons {
 public:
  using Answer = std::function<void(const CellDifference&)>;

  /// Requests the comparison of `cell` with `baseline`; `run` passes the result to `answer`. Does
  /// nothing if there is no baseline, if both are the same cell, or if `cell` has no time.
  void add(const record::CellResult* baseline, const record::CellResult& cell, Answer answer);

  /// @param noise_floor see `SamplePair`
  void run(double noise_floor, const CompareSettings& settings = {}) const;

  std::size_t size() const { return pairs_.size(); }

 private:
  std::vector<CellPair> pairs_;
  std::vector<Answer> answers_;
};

/// The cell that a speed-up over the baseline refers to: that of the baseline backend with the same
/// formulation, which computes in f32 and in one process. Null if it has no time. @param rivals the
/// cells of one shape
const record::CellResult* baseline_of(const std::vector<const record::CellResult*>& rivals,
                                      const record::CellResult& cell);

/// The cell that a speed-up over `wrapper` refers to: the `wrapper` cell with the same backend,
/// ranks and threads, computing with the same numbers. Null if it has no time. @param rivals the
/// cells of one shape
const record::CellResult* wrapper_of(const std::vector<const record::CellResult*>& rivals,
                                     const record::CellResult& cell);

/// A cell compared with the fastest of its contest.
struct Ranked {
  const record::CellResult* result = nullptr;
  Difference to_best;  ///< time / time of the fastest; for the fastest itself a ratio of 1, `same`

  /// Whether it may be slower only because of noise, or the difference is too small to matter.
  bool tied() const { return to_best.verdict != Verdict::slower; }
};

/// For each contest (`CellResult::contest`: a shape, or those cells of one that compute with
/// numbers of one accuracy) the cells with a time, smallest median first; contests in the order of
/// their first cell. The p-values are corrected for all cells of all contests together.
std::vector<std::vector<Ranked>> rank(const std::vector<const record::CellResult*>& results,
                                      double noise_floor, const CompareSettings& settings = {});

/// Ranks each list by itself, whatever is in it, all with a time.
void rank_each(std::vector<std::vector<Ranked>>& lists, double noise_floor,
               const CompareSettings& settings = {});

}  // namespace headroom::judge
