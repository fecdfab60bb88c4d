// What one results folder says of each cell; the rest of the folder is let go.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/result.hpp"
#include "store/origin.hpp"

namespace headroom::trend {

/// A cell of one run.
struct Reading {
  std::string id, backend, isa, unit;
  int threads = 1;
  bool peer = false;
  std::vector<double> launches;  ///< logarithms of the launches' medians, in seconds
  /// The same of samples corrected by the control (1e9 operations), what control that was, and its
  /// rate (GFLOP/s); empty and 0 without one.
  std::vector<double> steadied;
  std::string control;
  double gflops = 0;
};

/// A cell of one run that has no time: what became of it.
struct Absence {
  std::string id, backend;
  bool peer = false;
  record::Status status = record::Status::skipped;  ///< not `ok`
  std::string reason;
};

struct Run {
  std::filesystem::path folder;
  store::Origin origin;
  nlohmann::ordered_json environment;
  double noise_floor = 0;
  std::vector<Reading> readings;   ///< in the order of the axes
  std::vector<Absence> absences;   ///< likewise
  std::vector<std::string> notes;  ///< such as a torn last line that was dropped
};

/// @throws FileError as `record::read_results_folder`; a folder without any cell is none.
Run read_run(const std::filesystem::path& path);

}  // namespace headroom::trend
