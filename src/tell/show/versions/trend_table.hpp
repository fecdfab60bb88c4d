// The steps of a store, newest first.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trend/trend.hpp"

namespace headroom::show {

/// The cells of a machine that changed at the same place and in the same direction.
struct StepGroup {
  const trend::MachineTrend* machine = nullptr;
  std::size_t before = 0, after = 0;  ///< versions
  bool slower = false;
  bool maybe = false;  ///< the newest version alone
  struct Cell {
    const trend::Series* series = nullptr;
    const trend::Step* step = nullptr;
  };
  std::vector<Cell> cells;

  const trend::Version& version_before() const { return machine->versions[before]; }
  const trend::Version& version_after() const { return machine->versions[after]; }
  /// Of all cells of the machine, more than half: the machine itself may have changed.
  bool most_of_the_machine() const { return 2 * cells.size() > machine->series.size() + 1; }
  double median_ratio() const;
};

/// Newest first, slower before faster; those that are `maybe` in front of all.
std::vector<StepGroup> step_groups(const trend::Trend& trend);

/// Such as `"slower"`, or `"maybe slower"`.
std::string step_words(const StepGroup& group);

/// Such as `"3 of 42 cells slower, 2 maybe, 30 level, 7 in too few versions"`.
std::string trend_headline(const trend::Trend& trend);

/// A machine, its versions and how they are ordered, in one line.
std::string machine_line(const trend::MachineTrend& machine);

/// How steps were found and how often one is false, in a few lines.
std::string trend_method(const trend::Trend& trend);

/// For people: steps with their cells, then what is broken or missing, then what is level.
std::string trend_table(const trend::Trend& trend);

/// For programs: schema `headroom.trend/1`.
nlohmann::ordered_json to_json(const trend::Trend& trend);

/// For spreadsheets: a row for each cell and each version from the first on that has it.
std::string trend_csv(const trend::Trend& trend);

}  // namespace headroom::show
