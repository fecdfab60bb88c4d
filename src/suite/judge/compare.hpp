// Compares two results folders cell by cell: what became faster or slower, or broke.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/verdict.hpp"
#include "record/results_folder.hpp"

namespace headroom::judge {

/// A cell that at least one of the folders has.
struct ComparedCell {
  const record::CellResult* base = nullptr;  ///< null: only the new folder has it
  const record::CellResult* next = nullptr;  ///< null: only the base has it
  std::optional<Difference> difference;      ///< if both have a time
  bool by_control = false;  ///< the difference is of samples corrected by their control readings
  double raw_ratio = 1;     ///< of the medians as timed
  bool linkable = true;     ///< of a backend that somebody would link, see `BackendFacts`
  std::optional<Difference> again;  ///< of a second run, if that has a time on both sides
  bool refuted = false;             ///< a second run did not see the regression

  const std::string& id() const { return base != nullptr ? base->cell.id : next->cell.id; }
  bool peer() const { return base != nullptr ? base->peer : next->peer; }

  /// Whether the cell is slower, or newly failed, crashed or unsupported. A cell that was skipped
  /// or is missing does not count: it may have been left out on purpose. Nor does a peer's.
  bool regression() const;
};

/// Whose regressions count: those of backends that somebody would link, or of all.
enum class Gate { linkable, all };

/// Refers to both folders, which must outlive it.
struct FolderComparison {
  const record::ResultsFolder* base = nullptr;
  const record::ResultsFolder* next = nullptr;
  std::vector<ComparedCell> cells;    ///< in the order of the base, then the new ones
  std::vector<std::string> warnings;  ///< other differences, which may explain the times
  double threshold = 0;
  Gate gate = Gate::linkable;
  double noise_floor = 0;  ///< the larger of both folders; 0: neither recorded one

  std::size_t by_control() const;  ///< cells compared by samples corrected by their control

  std::size_t count(Verdict verdict) const;
  std::size_t compared() const;  ///< cells with a time on both sides
  std::size_t regressions() const;

  bool in_gate(const ComparedCell& cell) const { return gate == Gate::all || cell.linkable; }
  /// Whether the cell fails a gate: a regression that no second run refuted.
  bool gates(const ComparedCell& cell) const {
    return cell.regression() && in_gate(cell) && !cell.refuted;
  }
  std::size_t gating() const;
  /// Cells in the gate with a time on both sides.
  std::size_t compared_in_gate() const;
  /// Ids of the cells that gate and became slower, in one process: those worth a second run.
  std::vector<std::string> to_measure_again() const;
};

/// Takes over what a second run found about its cells.
void add_second_run(FolderComparison& comparison, const FolderComparison& again);

/// @throws InvalidArgument if no cell is in both folders; FileError for an invalid noise floor.
FolderComparison compare_folders(const record::ResultsFolder& base,
                                 const record::ResultsFolder& next,
                                 const CompareSettings& settings);

/// `noise.floor` of an environment: the ratio minus 1 by which equal programs were observed to
/// differ on that machine. If it is missing, the noise floor of the cells that were timed twice; 0
/// if there are none. @throws FileError for anything but a number >= 0.
double recorded_noise_floor(const record::ResultsFolder& folder);

}  // namespace headroom::judge
