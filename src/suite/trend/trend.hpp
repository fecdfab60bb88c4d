// The results of many versions: what became faster or slower, and since which of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "statistics/intervals.hpp"

namespace headroom::trend {

/// One of a machine's versions of the program; runs of equal names count as one.
struct Version {
  std::string name;       ///< such as `"0.1.0-aeb00f0f1c2d"`
  std::string committed;  ///< in UTC; empty where unknown
  std::string measured;   ///< the first run of it, in UTC; empty where unknown
};

/// A cell of one version.
struct Point {
  std::size_t version = 0;  ///< among those of its machine
  /// The level: the median over launches, where the series is corrected by the control at the
  /// median rate that this had over all versions.
  double seconds = 0;
};

/// Between two versions that follow each other in a series.
struct Step {
  std::size_t before = 0, after = 0;  ///< versions
  double ratio = 1;                   ///< of the levels, after / before
  statistics::Interval ci95;
  double corrected_p = 1;            ///< for all places and all cells of the machine
  std::vector<std::string> changes;  ///< what else differs there: compiler, flags, libraries

  bool slower() const { return ratio > 1; }
};

enum class State {
  stepped,  ///< its level changed at least once
  maybe,    ///< only the newest version differs: measure again
  level,
  too_few,  ///< versions to tell
};

/// One cell on one machine.
struct Series {
  std::string id;
  bool peer = false;          ///< of another library
  bool linkable = true;       ///< of a backend that somebody would link
  bool by_control = false;    ///< all of its levels are of samples corrected by one control
  std::vector<Point> points;  ///< oldest first; versions without a time are left out
  std::vector<Step> steps;    ///< oldest first
  std::optional<Step> maybe;

  State state() const;
  /// Whether a slowdown of it fails a gate.
  bool gates() const { return linkable && !peer; }
};

struct MachineTrend {
  std::string machine;    ///< as `store::Origin`
  std::string processor;  ///< as people read it
  bool by_commit =
      false;  ///< versions are in the order of their commits, else of their measurement
  double noise_floor = 0;         ///< the median of those that its runs recorded
  std::vector<Version> versions;  ///< oldest first
  std::vector<Series> series;

  /// The version at which the newest step is of any cell that gates; nothing without a step.
  std::optional<std::size_t> newest_step() const;
};

struct Trend {
  double threshold = 0;
  std::vector<MachineTrend> machines;  ///< by name
  std::vector<std::string> notes;      ///< on files, such as a torn last line that was dropped

  /// The ratio minus 1 below which a step does not matter on a machine.
  double margin_of(const MachineTrend& machine) const;
  /// Whether on any machine the newest step made a cell slower that somebody would link.
  bool slower_at_newest_step() const;
};

/// Reads the runs one after the other, machine by machine, version by version. Cells are joined by
/// their ids; a version may lack any of them.
/// @param runs as `store::runs_in`
/// @param threshold ratio minus 1; where the machine's noise floor is larger, that takes its place
/// @throws FileError for a folder that is none of results.
Trend trend_of(const std::vector<std::filesystem::path>& runs, double threshold);

}  // namespace headroom::trend
