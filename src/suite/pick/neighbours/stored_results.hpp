// The results of a store's runs, each read once however often it is asked.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "record/results_folder.hpp"
#include "store/catalogue.hpp"

namespace headroom::pick {

class StoredResults {
 public:
  using Folder = std::shared_ptr<const record::ResultsFolder>;

  /// @throws FileError as `record::read_results_folder`
  Folder of(const store::StoredRun& run);

 private:
  std::map<std::filesystem::path, Folder> folders_;
};

}  // namespace headroom::pick
