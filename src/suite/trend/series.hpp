// One cell over the versions of one machine: its levels, its steps, and where it broke.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/result.hpp"
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

/// A version that says of a cell what is no time. One that both failed and has a time, in two runs
/// of it, is here as well.
struct Gap {
  std::size_t version = 0;
  std::optional<record::Status> status;  ///< not `ok`; empty: the version has no such cell
  std::string reason;

  /// Failed, crashed or declined, as `judge::ComparedCell::regression` has it. What was skipped or
  /// is missing may have been left out on purpose.
  bool is_broken() const;
};

/// The newest version that says anything of the cell has it broken.
struct Breach {
  std::optional<std::size_t> fine_until;  ///< the last version that verified it, if one did
  std::size_t since = 0;                  ///< the first one after that in which it is broken
};

enum class State {
  stepped,  ///< its level changed at least once
  maybe,    ///< only the newest version differs: measure again
  level,
  too_few,  ///< versions to tell
  untimed,  ///< no version has a time: it failed or crashed wherever it was measured
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
  std::vector<Gap> gaps;  ///< oldest first, from the first version that has the cell on

  State state() const;
  std::optional<Breach> breach() const;
  /// Whether it was verified once, and is broken now.
  bool broke() const;
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

}  // namespace headroom::trend
