#include "across/collection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/nearest.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "judge/compare.hpp"
#include "judge/credible_roofs.hpp"
#include "store/runs.hpp"

namespace headroom::across {
namespace {

namespace fs = std::filesystem;

struct Read {
  Entry entry;
  std::string machine;
  std::string identity;  // as its environment tells it, whatever the machine is called
};

Read read(const Source& source, const fs::path& path) {
  Read result;
  result.entry.folder = record::read_results_folder(path);
  const record::ResultsFolder& folder = result.entry.folder;
  result.entry.origin = store::origin_of(folder.environment);
  result.entry.version = result.entry.origin.version;
  result.entry.roofs = judge::roofs_of(folder);
  result.entry.noise_floor = judge::recorded_noise_floor(folder);
  result.identity = result.entry.origin.machine;
  result.machine = source.name.empty() ? result.identity : shown_text(source.name);
  return result;
}

std::vector<Read> read_all(const std::vector<Source>& sources) {
  std::vector<Read> all;
  std::set<fs::path> seen;
  for (const Source& source : sources) {
    for (const fs::path& path : store::runs_in(source.path)) {
      std::error_code error;
      const fs::path real = fs::canonical(path, error);
      if (!seen.insert(error ? path : real).second) {
        throw InvalidArgument(
            fmt::format("{} is named twice, and would be compared with itself; name it once",
                        shown_path(path)));
      }
      all.push_back(read(source, path));
    }
  }
  return all;
}

// A machine's name, and that of its version where it has several; of two folders of one version
// also the folder.
void label(Collection& collection) {
  for (const Machine& machine : collection.machines) {
    std::map<std::string, int> folders;
    for (const std::size_t i : machine.entries) ++folders[collection.entries[i].version];
    for (const std::size_t i : machine.entries) {
      Entry& entry = collection.entries[i];
      entry.label = machine.name;
      if (folders.size() > 1) entry.label += " " + entry.version;
      if (folders[entry.version] > 1) {
        entry.label += fmt::format(" ({})", shown_path(entry.folder.path.filename()));
      }
    }
  }
}

void set_prices(Collection& collection, const std::vector<Price>& prices) {
  std::vector<std::string> names;
  for (const Machine& machine : collection.machines) names.push_back(machine.name);
  for (const Price& price : prices) {
    const auto found = std::find(names.begin(), names.end(), shown_text(price.machine));
    if (found == names.end()) {
      throw InvalidArgument(fmt::format("--price: no machine is named '{}'; {}",
                                        shown_text(price.machine), suggest(price.machine, names)));
    }
    std::optional<double>& own =
        collection.machines[static_cast<std::size_t>(found - names.begin())].price;
    if (own) {
      throw InvalidArgument(
          fmt::format("--price: '{}' has two prices; give one", shown_text(price.machine)));
    }
    own = price.per_hour;
  }
}

}  // namespace

Collection gather(const std::vector<Source>& sources, const std::vector<Price>& prices) {
  std::vector<Read> all = read_all(sources);
  Collection collection;
  std::map<std::string, std::pair<std::size_t, std::string>> machines;
  for (Read& read : all) {
    const auto [place, fresh] =
        machines.try_emplace(read.machine, std::pair(collection.machines.size(), read.identity));
    const auto& [index, identity] = place->second;
    if (identity != read.identity) {
      throw InvalidArgument(fmt::format(
          "'{}' names two machines, {} and {} ({}); give each a name of its own",
          shown_text(read.machine), identity, read.identity, shown_path(read.entry.folder.path)));
    }
    if (fresh) collection.machines.push_back({read.machine, read.entry.origin.processor, {}, {}});
    read.entry.machine = index;
  }
  std::stable_sort(all.begin(), all.end(), [](const Read& a, const Read& b) {
    const auto key = [](const Entry& entry) {
      return std::tuple(entry.machine, entry.origin.age(), entry.origin.measured);
    };
    return key(a.entry) < key(b.entry);
  });
  for (Read& read : all) {
    collection.machines[read.entry.machine].entries.push_back(collection.entries.size());
    collection.entries.push_back(std::move(read.entry));
  }
  label(collection);
  set_prices(collection, prices);
  return collection;
}

}  // namespace headroom::across
