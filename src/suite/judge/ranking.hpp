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
  double noise_floor = 0;  ///< see `SamplePair`; of two machines the larger one
  /// One machine was slower as a whole during one of two runs, which the control beside the samples
  /// shows. Two machines have two controls, which say nothing of each other.
  bool one_machine = true;
  double factor = 1;  ///< of the next one's times, such as the ratio of two prices
};

struct CellDifference {
  Difference difference;    ///< next / base
  bool by_control = false;  ///< of samples corrected by their control readings
  double raw_ratio = 1;     ///< of the medians as timed
};

/// Compares the samples of each pair, with p-values corrected for all pairs together. If both cells
/// have the same control, the samples are corrected by its readings first.
std::vector<CellDifference> compare_cells(const std::vector<CellPair>& pairs,
                                          const CompareSettings& settings = {});

/// Collects pairs and compares them all at once, because the correction for multiple tests must
/// cover everything that one table or report claims.
class Comparisons {
 public:
  using Answer = std::function<void(const CellDifference&)>;

  /// @param noise_floor of pairs that do not say their own
  explicit Comparisons(double noise_floor = 0) : noise_floor_(noise_floor) {}

  /// Requests the comparison of a pair; `run` passes the result to `answer`. Does nothing if there
  /// is no base, if both are the same cell, or if the next one has no time.
  void add(const CellPair& pair, Answer answer);
  void add(const record::CellResult* base, const record::CellResult& next, Answer answer);

  void run(const CompareSettings& settings = {}) const;

  std::size_t size() const { return pairs_.size(); }

 private:
  double noise_floor_;
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
