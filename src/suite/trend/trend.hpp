// The results of many versions: what became faster, slower or wrong, and since which of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "trend/series.hpp"

namespace headroom::trend {

struct Trend {
  double threshold = 0;
  std::vector<MachineTrend> machines;  ///< by name
  std::vector<std::string> notes;      ///< on files, such as a torn last line that was dropped

  /// The ratio minus 1 below which a step does not matter on a machine.
  double margin_of(const MachineTrend& machine) const;
  /// Whether on any machine the newest step made a cell slower that somebody would link.
  bool slower_at_newest_step() const;
  /// Cells that somebody would link, were verified once and are broken now.
  std::size_t broke() const;
};

/// Reads the runs one after the other, machine by machine, version by version. Cells are joined by
/// their ids; a version may lack any of them.
/// @param runs as `store::runs_in`
/// @param threshold ratio minus 1; where the machine's noise floor is larger, that takes its place
/// @throws FileError for a folder that is none of results.
Trend trend_of(const std::vector<std::filesystem::path>& runs, double threshold);

}  // namespace headroom::trend
