#include "store/shelf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "core/text/fingerprint.hpp"
#include "core/text/shown.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "record/results_folder.hpp"
#include "store/runs.hpp"

namespace headroom::store {
namespace {

namespace fs = std::filesystem;
using record::CellResult;
using record::Status;

// No two measurements have all their samples in common, down to the last bit.
std::uint64_t measurement_of(const CellResult& result) {
  Fingerprint fingerprint;
  fingerprint.add(fmt::format("{}\n{}\n{}\n", result.cell.id, record::to_string(result.status),
                              result.has_time() ? "" : result.reason));
  for (const double sample : result.time.samples) fingerprint.add(fmt::format("{} ", sample));
  return fingerprint.value();
}

std::set<std::uint64_t> measurements_of(const CleanRun& run) {
  std::set<std::uint64_t> all;
  for (const CellResult& result : run.results) all.insert(measurement_of(result));
  return all;
}

bool is_same_run(const CleanRun& a, const CleanRun& b) {
  return !a.origin.measured.empty() && a.origin.measured == b.origin.measured;
}

std::map<std::string, CellResult*> by_id(std::vector<CellResult>& results) {
  std::map<std::string, CellResult*> all;
  for (CellResult& result : results) all.emplace(result.cell.id, &result);
  return all;
}

// Two measurements of one cell in what calls itself one run: it is another run after all.
bool contradicts(CleanRun& held, const CleanRun& run) {
  const auto known = by_id(held.results);
  return std::any_of(run.results.begin(), run.results.end(), [&](const CellResult& result) {
    const auto found = known.find(result.cell.id);
    return found != known.end() && result.status != Status::crashed &&
           found->second->status != Status::crashed &&
           measurement_of(*found->second) != measurement_of(result);
  });
}

// What both tell of a run: the later environment, every peer, and the larger noise if the later one
// has not all cells.
nlohmann::ordered_json joined_environment(const CleanRun& held, const CleanRun& run, bool all) {
  nlohmann::ordered_json environment = run.environment;
  const auto& peers = value_at(held.environment, "/peers");
  if (peers.is_object()) {
    for (const auto& peer : peers.items()) {
      if (!environment["peers"].contains(peer.key())) {
        environment["peers"][peer.key()] = peer.value();
      }
    }
  }
  const auto& floor = value_at(held.environment, "/noise/floor");
  const auto& later = value_at(environment, "/noise/floor");
  const bool larger = floor.is_number() &&
                      (!later.is_number() || (!all && later.get<double>() < floor.get<double>()));
  if (larger) environment["noise"]["floor"] = floor;
  return environment;
}

}  // namespace

void Placing::count(const CellResult& result) {
  ++cells;
  if (result.has_time()) ++timed;
}

Shelf::Shelf(fs::path store)
    : store_(std::move(store)), catalogue_(catalogue_of(stored_runs(store_))) {
  for (const StoredMachine& machine : catalogue_.machines) {
    // Whoever renames a folder of the store finds the machine's next version beside the others.
    folders_[machine.name] = machine.runs.front().path.parent_path().filename().string();
  }
}

std::vector<Shelf::Held>& Shelf::held_of(const Origin& origin) {
  const auto [place, fresh] = held_.try_emplace({origin.machine, origin.version});
  if (!fresh) return place->second;
  for (const StoredMachine& machine : catalogue_.machines) {
    if (machine.name != origin.machine) continue;
    for (const StoredRun& stored : machine.runs) {
      if (stored.origin.version != origin.version) continue;
      record::ResultsFolder folder =
          record::read_results_folder(stored.path, record::Empty::accept);
      CleanRun run{stored.path, stored.origin, stored.environment, std::move(folder.results), {}};
      std::set<std::uint64_t> all = measurements_of(run);
      place->second.push_back(
          {stored.path.lexically_relative(store_), std::move(run), std::move(all)});
    }
  }
  return place->second;
}

fs::path Shelf::free_place(const Origin& origin) const {
  const auto folder = folders_.find(origin.machine);
  const fs::path machine = folder == folders_.end() ? origin.machine : folder->second;
  const auto status = [&](const fs::path& place) {
    std::error_code error;
    return fs::symlink_status(store_ / place, error);
  };
  if (fs::exists(status(machine)) && !fs::is_directory(status(machine))) {
    throw ResourceError(fmt::format(
        "cannot write {}: it is no folder, or a link to one; remove it or choose another --into",
        shown_path(store_ / machine)));
  }
  const auto held = held_.find({origin.machine, origin.version});
  for (int number = 1;; ++number) {
    fs::path place =
        machine / (number == 1 ? origin.version : fmt::format("{}.{}", origin.version, number));
    const bool taken =
        held != held_.end() && std::any_of(held->second.begin(), held->second.end(),
                                           [&](const Held& each) { return each.place == place; });
    if (!taken && !fs::exists(status(place))) return place;
  }
}

// Takes out of a run what other runs of its version hold. Cells without a time say something of
// their own run only, so they go where they have nothing to accompany.
void Shelf::drop_known(CleanRun& run, const std::vector<Held>& all, const Held* same,
                       Placing& placing) const {
  const auto is_held = [&](const CellResult& result) {
    const std::uint64_t measurement = measurement_of(result);
    return std::any_of(all.begin(), all.end(), [&](const Held& held) {
      return &held != same && held.measurements.contains(measurement);
    });
  };
  const bool had_times = std::any_of(run.results.begin(), run.results.end(),
                                     [](const CellResult& each) { return each.has_time(); });
  const bool nameless = run.origin.measured.empty();
  const std::size_t before = run.results.size();
  std::erase_if(run.results, [&](const CellResult& result) {
    return (result.has_time() || nameless) && is_held(result);
  });
  const bool has_times = std::any_of(run.results.begin(), run.results.end(),
                                     [](const CellResult& each) { return each.has_time(); });
  if (had_times && !has_times && same == nullptr) run.results.clear();
  placing.known = before - run.results.size();
}

void Shelf::put(CleanRun run, Placing& placing) {
  std::vector<Held>& all = held_of(run.origin);
  const bool nothing = run.results.empty() && !all.empty();
  placing.place = nothing ? all.front().place : free_place(run.origin);
  for (const CellResult& result : run.results) placing.count(result);
  placing.run = run;
  if (run.results.empty()) return;
  std::set<std::uint64_t> measurements = measurements_of(run);
  all.push_back({placing.place, std::move(run), std::move(measurements)});
}

void Shelf::grow(Held& held, CleanRun run, Placing& placing) const {
  placing.place = held.place;
  placing.grows = true;
  CleanRun joined = held.run;
  const auto known = by_id(joined.results);
  const std::size_t before = joined.results.size();
  std::vector<CellResult> added;
  std::size_t met = 0;
  for (CellResult& result : run.results) {
    const auto found = known.find(result.cell.id);
    if (found == known.end()) {
      placing.count(result);
      added.push_back(std::move(result));
      continue;
    }
    ++met;
    if (found->second->status == Status::crashed && result.status != Status::crashed) {
      placing.count(result);
      *found->second = std::move(result);
    } else {
      ++placing.known;
    }
  }
  run.results.clear();
  placing.run = std::move(run);
  if (placing.cells == 0) return;
  std::move(added.begin(), added.end(), std::back_inserter(joined.results));
  placing.run.environment = joined_environment(held.run, placing.run, met == before);
  placing.run.results = std::move(joined.results);
  held.run = placing.run;
  held.measurements = measurements_of(held.run);
}

Placing Shelf::place(CleanRun run) {
  std::vector<Held>& all = held_of(run.origin);
  auto same = std::find_if(all.begin(), all.end(),
                           [&](const Held& held) { return is_same_run(held.run, run); });
  if (same != all.end() && contradicts(same->run, run)) same = all.end();
  Placing placing;
  drop_known(run, all, same == all.end() ? nullptr : &*same, placing);
  if (same == all.end()) {
    put(std::move(run), placing);
  } else {
    grow(*same, std::move(run), placing);
  }
  return placing;
}

}  // namespace headroom::store
