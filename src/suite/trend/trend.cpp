#include "trend/trend.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "backends/backend.hpp"
#include "statistics/samples.hpp"
#include "trend/build_changes.hpp"
#include "trend/find_steps.hpp"
#include "trend/gaps.hpp"
#include "trend/readings.hpp"
#include "trend/stretches.hpp"

namespace headroom::trend {
namespace {

using Runs = std::vector<Run>;

// A reading, and where it is from.
struct Place {
  const Run* run = nullptr;
  const Reading* reading = nullptr;
  std::size_t version = 0;
};

// A commit knows its time in every run, or none is asked: the two clocks have nothing in common.
bool all_know_their_commit(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [](const Run& run) { return !run.origin.committed.empty(); });
}

void sort_runs(Runs& runs, bool by_commit) {
  std::stable_sort(runs.begin(), runs.end(), [by_commit](const Run& a, const Run& b) {
    const auto key = [by_commit](const Run& run) {
      return std::tie(by_commit ? run.origin.committed : run.origin.measured, run.origin.measured,
                      run.origin.version);
    };
    return key(a) < key(b);
  });
}

std::size_t version_of(const Run& run, std::vector<Version>& versions) {
  const auto known = std::find_if(versions.begin(), versions.end(), [&](const Version& each) {
    return each.name == run.origin.version;
  });
  if (known != versions.end()) return static_cast<std::size_t>(known - versions.begin());
  versions.push_back({run.origin.version, run.origin.committed, run.origin.measured});
  return versions.size() - 1;
}

// Each cell's readings, cells in the order in which they were first met, versions in theirs.
std::vector<std::vector<Place>> by_cell(const Runs& runs, std::vector<Version>& versions) {
  std::vector<std::vector<Place>> cells;
  std::map<std::string, std::size_t> known;
  for (const Run& run : runs) {
    const std::size_t version = version_of(run, versions);
    for (const Reading& reading : run.readings) {
      const auto [cell, fresh] = known.emplace(reading.id, cells.size());
      if (fresh) cells.emplace_back();
      cells[cell->second].push_back({&run, &reading, version});
    }
  }
  for (std::vector<Place>& places : cells) {
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.version < b.version; });
  }
  return cells;
}

bool share_a_control(const std::vector<Place>& places) {
  const std::string& control = places.front().reading->control;
  return !control.empty() && std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return place.reading->control == control;
  });
}

double median_rate(const std::vector<Place>& places) {
  std::vector<double> rates;
  for (const Place& place : places) rates.push_back(place.reading->gflops);
  return statistics::median(std::move(rates));
}

// One cell, with its levels and the first reading of each version.
struct Gathered {
  Series series;
  Judged judged;
  std::vector<Place> places;
};

Gathered gather(const std::vector<Place>& places, double margin) {
  Gathered gathered;
  Series& series = gathered.series;
  series.id = places.front().reading->id;
  series.peer = places.front().reading->peer;
  series.linkable = !backend_facts(places.front().reading->backend).only_compared;
  series.by_control = share_a_control(places);
  gathered.judged.margin = margin;
  const double rate = series.by_control ? median_rate(places) : 1;
  for (std::size_t i = 0; i < places.size();) {
    std::vector<double> launches;
    const Place& first = places[i];
    for (; i < places.size() && places[i].version == first.version; ++i) {
      const Reading& reading = *places[i].reading;
      const std::vector<double>& own = series.by_control ? reading.steadied : reading.launches;
      launches.insert(launches.end(), own.begin(), own.end());
    }
    gathered.judged.levels.push_back(level_of(launches));
    gathered.places.push_back(first);
    series.points.push_back({first.version, std::exp(gathered.judged.levels.back().value) / rate});
  }
  return gathered;
}

Step step_of(const FoundStep& found, const std::vector<Place>& places) {
  const Place& before = places[found.at - 1];
  const Place& after = places[found.at];
  return {before.version,
          after.version,
          found.ratio,
          found.ci95,
          found.corrected_p,
          build_changes({&before.run->environment, before.reading},
                        {&after.run->environment, after.reading})};
}

double median_floor(const Runs& runs) {
  std::vector<double> floors;
  for (const Run& run : runs) {
    if (run.noise_floor > 0) floors.push_back(run.noise_floor);
  }
  return floors.empty() ? 0 : statistics::median(std::move(floors));
}

MachineTrend trend_of_machine(Runs runs, double threshold) {
  MachineTrend trend;
  trend.machine = runs.front().origin.machine;
  trend.processor = runs.front().origin.processor;
  trend.by_commit = all_know_their_commit(runs);
  trend.noise_floor = median_floor(runs);
  sort_runs(runs, trend.by_commit);
  std::vector<Gathered> cells;
  std::vector<Judged> judged;
  for (const std::vector<Place>& places : by_cell(runs, trend.versions)) {
    cells.push_back(gather(places, std::max(threshold, trend.noise_floor)));
    judged.push_back(cells.back().judged);
  }
  const std::vector<FoundSteps> found = find_steps(judged);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Series& series = cells[i].series;
    for (const FoundStep& step : found[i].steps) {
      series.steps.push_back(step_of(step, cells[i].places));
    }
    // An old version that is the last to have a cell says nothing of the newest.
    const bool newest = series.points.back().version + 1 == trend.versions.size();
    if (found[i].maybe && newest) series.maybe = step_of(*found[i].maybe, cells[i].places);
    trend.series.push_back(std::move(series));
  }
  add_gaps(trend, runs);
  return trend;
}

}  // namespace

double Trend::margin_of(const MachineTrend& machine) const {
  return std::max(threshold, machine.noise_floor);
}

bool Trend::slower_at_newest_step() const {
  return std::any_of(machines.begin(), machines.end(), [](const MachineTrend& machine) {
    const std::optional<std::size_t> newest = machine.newest_step();
    return newest &&
           std::any_of(machine.series.begin(), machine.series.end(), [&](const Series& series) {
             return series.gates() && !series.steps.empty() &&
                    series.steps.back().after == *newest && series.steps.back().slower();
           });
  });
}

std::size_t Trend::broke() const {
  std::size_t count = 0;
  for (const MachineTrend& machine : machines) {
    count += static_cast<std::size_t>(
        std::count_if(machine.series.begin(), machine.series.end(),
                      [](const Series& series) { return series.gates() && series.broke(); }));
  }
  return count;
}

Trend trend_of(const std::vector<std::filesystem::path>& runs, double threshold) {
  std::map<std::string, Runs> machines;
  Trend trend;
  trend.threshold = threshold;
  for (const std::filesystem::path& path : runs) {
    Run run = read_run(path);
    trend.notes.insert(trend.notes.end(), run.notes.begin(), run.notes.end());
    machines[run.origin.machine].push_back(std::move(run));
  }
  for (auto& [name, own] : machines) {
    trend.machines.push_back(trend_of_machine(std::move(own), threshold));
  }
  return trend;
}

}  // namespace headroom::trend
