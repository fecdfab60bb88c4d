#include "cli/results.hpp"

#include "cli/output.hpp"

namespace headroom::cli {

sweep::ResultsFolder read_results(const std::filesystem::path& path) {
  sweep::ResultsFolder folder = sweep::read_results_folder(path);
  for (const std::string& note : folder.notes) complain("note", note);
  return folder;
}

}  // namespace headroom::cli
