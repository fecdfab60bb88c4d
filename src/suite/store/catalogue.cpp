#include "store/catalogue.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "program/exit_code.hpp"
#include "record/results_folder.hpp"
#include "store/runs.hpp"

namespace headroom::store {
namespace {

bool is_newer(const StoredRun& a, const StoredRun& b) {
  return std::tie(a.origin.age(), a.origin.measured) > std::tie(b.origin.age(), b.origin.measured);
}

}  // namespace

Catalogue catalogue_of(const std::vector<std::filesystem::path>& runs) {
  Catalogue catalogue;
  std::map<std::string, StoredMachine> machines;
  for (const std::filesystem::path& path : runs) {
    try {
      StoredRun run{path, record::read_environment(path), {}};
      run.origin = origin_of(run.environment);
      StoredMachine& machine = machines[run.origin.machine];
      machine.name = run.origin.machine;
      machine.processor = run.origin.processor;
      machine.runs.push_back(std::move(run));
    } catch (const FileError& error) {
      catalogue.notes.emplace_back(error.what());
    }
  }
  for (auto& [_, machine] : machines) {
    std::stable_sort(machine.runs.begin(), machine.runs.end(), is_newer);
    catalogue.machines.push_back(std::move(machine));
  }
  return catalogue;
}

Catalogue catalogue_of(const std::filesystem::path& store) {
  Catalogue catalogue = catalogue_of(runs_in(store));
  if (catalogue.machines.empty()) throw FileError(catalogue.notes.front());
  return catalogue;
}

}  // namespace headroom::store
