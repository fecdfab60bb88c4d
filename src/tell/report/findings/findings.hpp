// How the cells of a results folder compare: all that a report may claim.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/link_choice.hpp"
#include "judge/peers.hpp"
#include "judge/verdict.hpp"
#include "record/peaks.hpp"
#include "record/results_folder.hpp"

namespace headroom::report {

/// How a cell's time compares with a baseline's.
struct Versus {
  const record::CellResult* baseline = nullptr;
  judge::Difference difference;  ///< cell's time over baseline's; below 1 is faster

  double speed_up() const { return 1 / difference.ratio; }
  statistics::Interval speed_up_ci95() const {
    return {1 / difference.ci95.high, 1 / difference.ci95.low};
  }
};

/// A cell with its comparisons. A comparison is missing where either side has no time.
struct Contest {
  const record::CellResult* cell = nullptr;
  std::optional<Versus> over_baseline;   ///< of the same shape and formulation
  std::optional<Versus> over_wrapper;    ///< of the same shape, backend, ranks and threads
  std::optional<Versus> behind_fastest;  ///< of the same shape; empty for the fastest itself

  /// The fastest of its shape, or not shown to be slower than the fastest.
  bool leads() const;
  /// By taking it in place of the fastest.
  judge::Loss loss() const;
};

/// The rivals of one contest: a shape, or its cells that compute with numbers of one accuracy.
struct ShapeFindings {
  Case shape;
  std::string contest_name;       ///< `CellResult::contest`
  Numbers numbers;                ///< of all: the class of their limits, and what is stored
  std::vector<Contest> contests;  ///< in the order of the axes, whatever their status
  /// Index of the smallest median in one process; empty without any time.
  std::optional<std::size_t> fastest;

  const Contest* winner() const { return fastest ? &contests[*fastest] : nullptr; }
  /// Backends with a cell that leads, the fastest first.
  std::vector<std::string> leaders() const;
  /// Whether the backend is among them.
  bool leads(const std::string& backend) const;
  /// The fastest cell of any backend but the winner's; null without one.
  const Contest* runner_up() const;
  /// The backend's fastest cell; null if it has no time.
  const Contest* best_of(const std::string& backend) const;
};

/// A precision and what is stored, at its fastest for a shape.
struct PrecisionPoint {
  const record::CellResult* cell = nullptr;
  std::optional<Versus>
      over_f32;  ///< over the baseline of its shape; empty for that, or without it
  /// No other numbers are both faster and at least as exact. Those whose times cannot be
  /// distinguished are not faster.
  bool on_front = false;

  /// The kernel's error and that of storing together, as independent errors add.
  double error() const;
};

/// What each precision, and storing in fewer bits, costs and gives, for one shape; only where there
/// are several.
struct PrecisionFindings {
  Case shape;
  std::vector<PrecisionPoint> points;  ///< from the most to the least exact

  /// The fastest of f32, stored as exactly as any of f32 is; null without one.
  const record::CellResult* baseline() const;
};

/// Refers to the folder, which must outlive it.
struct Findings {
  const record::ResultsFolder* folder = nullptr;
  std::vector<ShapeFindings> shapes;          ///< no peer wins or ties in one
  std::vector<judge::PeerBlock> peers;        ///< other libraries beside the best of ours
  std::vector<PrecisionFindings> precisions;  ///< of every shape that was measured with several
  record::Peaks roofs;                        ///< see `judge::credible_roofs`
  double noise_floor = 0;                     ///< 0: unknown
  double margin = 0;                          ///< ratio - 1 below which nothing is faster or slower
  std::size_t comparisons = 0;                ///< corrected together
  std::size_t by_control = 0;  ///< of these, with samples divided by the control beside them
};

/// For `find_out`: the precisions of each shape; points refer to the folder. `compare_precisions`
/// asks for what is then judged, and the lists must stay where they are until it has run; after
/// that `mark_front` fills `on_front` in.
std::vector<PrecisionFindings> find_precisions(const record::ResultsFolder& folder);
void compare_precisions(std::vector<PrecisionFindings>& shapes, judge::Comparisons& comparisons,
                        std::size_t& by_control);
void mark_front(std::vector<PrecisionFindings>& shapes);

/// @throws FileError as `recorded_noise_floor`.
Findings find_out(const record::ResultsFolder& folder);

/// What the headline is about: cells with a time that store the most and compute the most exactly.
Numbers most_exact_of(const Findings& findings);

/// The limit that the measured roofs set for a cell.
struct Roof {
  double gflops = 0;            ///< the lower of both roofs at this shape
  bool memory_bound = false;    ///< the lower one is the memory roof
  double fma_gflops = 0;        ///< of its own precision's products on its threads, for every rank
  double read_gb_per_s = 0;     ///< read by the threads of all ranks, as far as there were cores
  bool of_working_set = false;  ///< measured by reading as many bytes again and again
  double flops_per_byte = 0;    ///< weights, cache, input and output, each moved once
};

/// Few rows of a warm cell are held to the bandwidth of their working set, which may lie in a
/// processor's cache. Without one, memory is no roof for what fits the last level.
/// @param roofs those of the folder
/// @return empty where the peaks were not measured on this number of threads, or for another
///         precision
std::optional<Roof> roof_of(const record::ResultsFolder& folder, const record::CellResult& result,
                            const record::Peaks& roofs);

}  // namespace headroom::report
