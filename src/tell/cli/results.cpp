#include "cli/results.hpp"

#include "cli/line/output.hpp"

namespace headroom::cli {

record::ResultsFolder read_results(const std::filesystem::path& path) {
  record::ResultsFolder folder = record::read_results_folder(path);
  for (const std::string& note : folder.notes) complain("note", note);
  return folder;
}

}  // namespace headroom::cli
