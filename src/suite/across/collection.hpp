// Results folders of several machines and versions, told apart by who measured them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/peaks.hpp"
#include "record/results_folder.hpp"
#include "store/origin.hpp"

namespace headroom::across {

/// A folder that somebody named, or a store of many.
struct Source {
  std::string name;  ///< of its machine; empty: as `store::origin_of` has it
  std::filesystem::path path;
};

/// What an hour of a machine costs, in any unit of money.
struct Price {
  std::string machine;
  double per_hour = 0;
};

/// One results folder.
struct Entry {
  std::size_t machine = 0;  ///< index in `Collection::machines`
  std::string version;
  std::string label;  ///< its machine's name; with the version where the machine has several
  store::Origin origin;
  record::ResultsFolder folder;
  record::Peaks roofs;  ///< see `judge::credible_roofs`
  double noise_floor = 0;
};

struct Machine {
  std::string name;
  std::string processor;
  std::vector<std::size_t> entries;  ///< indices in `Collection::entries`, the oldest first
  std::optional<double> price;       ///< of an hour
};

/// All that is asked about results refers into it, so it must outlive the answers and stay as it
/// is.
struct Collection {
  std::vector<Entry> entries;     ///< machine by machine, the oldest version first
  std::vector<Machine> machines;  ///< in the order in which they were named

  const Machine& machine_of(const Entry& entry) const { return machines[entry.machine]; }
};

/// Reads every folder of every source.
/// @throws FileError as `store::runs_in` and `record::read_results_folder`, and for results of more
///         than one machine; InvalidArgument for a folder that is named twice, for one name of two
///         machines and for a price of a machine that is not there.
Collection gather(const std::vector<Source>& sources, const std::vector<Price>& prices = {});

}  // namespace headroom::across
