#include "pick/neighbours/stored_results.hpp"

namespace headroom::pick {

StoredResults::Folder StoredResults::of(const store::StoredRun& run) {
  Folder& folder = folders_[run.path];
  if (folder == nullptr) {
    folder = std::make_shared<const record::ResultsFolder>(record::read_results_folder(run.path));
  }
  return folder;
}

}  // namespace headroom::pick
