#include "trend/gaps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "backends/backend.hpp"

namespace headroom::trend {
namespace {

using record::Status;

// Of several runs of one version the worst counts: whoever repeats a run until it passes has not
// mended anything.
int badness(Status status) {
  if (record::is_broken(status)) return 2;
  return status == Status::unsupported ? 1 : 0;
}

using ByVersion = std::map<std::size_t, const Absence*>;

std::map<std::string, ByVersion> absences_of(const MachineTrend& machine,
                                             const std::vector<Run>& runs) {
  std::map<std::string, ByVersion> all;
  for (const Run& run : runs) {
    const auto known =
        std::find_if(machine.versions.begin(), machine.versions.end(),
                     [&](const Version& each) { return each.name == run.origin.version; });
    const auto version = static_cast<std::size_t>(known - machine.versions.begin());
    for (const Absence& absence : run.absences) {
      const Absence*& worst = all[absence.id][version];
      if (worst == nullptr || badness(absence.status) > badness(worst->status)) worst = &absence;
    }
  }
  return all;
}

void fill_in(Series& series, const ByVersion& absences, std::size_t versions) {
  std::set<std::size_t> timed;
  for (const Point& point : series.points) timed.insert(point.version);
  bool met = false;
  for (std::size_t version = 0; version < versions; ++version) {
    const auto found = absences.find(version);
    const bool has_time = timed.contains(version);
    if (found != absences.end() && (!has_time || badness(found->second->status) == 2)) {
      series.gaps.push_back({version, found->second->status, found->second->reason});
    } else if (!has_time && met) {
      series.gaps.push_back({version, {}, ""});
    }
    met = met || has_time || found != absences.end();
  }
}

Series without_points(const std::string& id, const Absence& absence) {
  Series series;
  series.id = id;
  series.peer = absence.peer;
  series.linkable = !backend_facts(absence.backend).only_compared;
  return series;
}

}  // namespace

void add_gaps(MachineTrend& machine, const std::vector<Run>& runs) {
  std::map<std::string, ByVersion> absences = absences_of(machine, runs);
  for (Series& series : machine.series) {
    const auto own = absences.extract(series.id);
    fill_in(series, own.empty() ? ByVersion{} : own.mapped(), machine.versions.size());
  }
  for (const auto& [id, by_version] : absences) {
    const auto worst = std::find_if(by_version.begin(), by_version.end(), [](const auto& each) {
      return record::is_broken(each.second->status);
    });
    if (worst == by_version.end()) continue;
    machine.series.push_back(without_points(id, *worst->second));
    fill_in(machine.series.back(), by_version, machine.versions.size());
  }
}

}  // namespace headroom::trend
