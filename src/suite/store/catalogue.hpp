// What a store holds, by its environments alone: those are short, and the results need not be read.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/origin.hpp"

namespace headroom::store {

struct StoredRun {
  std::filesystem::path path;
  nlohmann::ordered_json environment;
  Origin origin;
};

struct StoredMachine {
  std::string name;             ///< as `Origin::machine`, whatever its folder is called
  std::string processor;        ///< as `Origin::processor`
  std::vector<StoredRun> runs;  ///< newest version first, and of one version the newest run
};

struct Catalogue {
  std::vector<StoredMachine> machines;  ///< by name
  std::vector<std::string> notes;       ///< folders that could not be read, each with the reason
};

/// Of a store, or of a single results folder. One folder that cannot be read does not hide the
/// rest.
/// @throws FileError if there is none that can.
Catalogue catalogue_of(const std::filesystem::path& store);

/// The same of folders that are known. @throws nothing for none
Catalogue catalogue_of(const std::vector<std::filesystem::path>& runs);

}  // namespace headroom::store
