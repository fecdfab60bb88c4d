#include "across/lone_backend.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace headroom::across {
namespace {

using Contests = std::vector<const Contest*>;
using Spots = std::vector<Spot>;

Contests most_exact(const std::vector<Contest>& contests) {
  const auto rank = [](const Contest& contest) {
    return std::tuple(contest.numbers.as_stored(), contest.numbers.precision, contest.cold);
  };
  Contests chosen;
  for (const Contest& contest : contests) {
    if (contest.standings.empty()) continue;
    if (!chosen.empty() && rank(contest) < rank(*chosen.front())) chosen.clear();
    if (chosen.empty() || rank(contest) == rank(*chosen.front())) chosen.push_back(&contest);
  }
  return chosen;
}

Spots spots_of(const Contests& contests, std::optional<std::size_t> machine = {}) {
  Spots spots;
  for (const Contest* contest : contests) {
    for (const Standing& standing : contest->standings) {
      if (!machine || standing.machine == *machine) spots.push_back({contest, &standing, nullptr});
    }
  }
  return spots;
}

double ratio_of(const Spot& spot) {
  return spot.rival->cell->time.median / spot.standing->fastest().cell->time.median;
}

// Geometric, of machines that each count once.
double mean_of(const std::map<std::size_t, std::pair<double, std::size_t>>& by_machine) {
  double sum = 0;
  for (const auto& [machine, total] : by_machine) {
    sum += total.first / static_cast<double>(total.second);
  }
  return by_machine.empty() ? 1 : std::exp(sum / static_cast<double>(by_machine.size()));
}

BackendRecord record_of(const std::string& backend, const Spots& spots) {
  BackendRecord record;
  record.backend = backend;
  std::map<std::size_t, std::pair<double, std::size_t>> by_machine;
  for (Spot spot : spots) {
    spot.rival = spot.standing->of(backend);
    if (spot.rival == nullptr) {
      ++record.missing;
      continue;
    }
    const judge::Loss loss = spot.rival->loss();
    ++(loss == judge::Loss::little    ? record.good
       : loss == judge::Loss::unknown ? record.unknown
                                      : record.behind);
    auto& [sum, count] = by_machine[spot.standing->machine];
    sum += std::log(ratio_of(spot));
    ++count;
    if (record.worst.rival == nullptr ||
        spot.rival->to_fastest.ratio > record.worst.rival->to_fastest.ratio) {
      record.worst = spot;
    }
  }
  record.mean = mean_of(by_machine);
  return record;
}

std::vector<BackendRecord> records_of(const Spots& spots) {
  std::set<std::string> names;
  for (const Spot& spot : spots) {
    for (const Rival& rival : spot.standing->rivals) names.insert(rival.backend());
  }
  std::vector<BackendRecord> records;
  for (const std::string& name : names) records.push_back(record_of(name, spots));
  return records;
}

judge::LinkChoice choose(const std::vector<BackendRecord>& records) {
  std::vector<judge::Contender> contenders;
  for (const BackendRecord& record : records) {
    const judge::Loss loss = record.behind > 0    ? judge::Loss::large
                             : record.unknown > 0 ? judge::Loss::unknown
                                                  : judge::Loss::little;
    contenders.push_back(
        {record.missing, std::log(record.mean), loss, judge::weight_by_facts(record.backend)});
  }
  return judge::choose_to_link(contenders);
}

std::vector<OwnChoice> own_choices(const Contests& contests) {
  std::set<std::size_t> machines;
  for (const Spot& spot : spots_of(contests)) machines.insert(spot.standing->machine);
  std::vector<OwnChoice> own;
  for (const std::size_t machine : machines) {
    const Spots spots = spots_of(contests, machine);
    const std::vector<BackendRecord> records = records_of(spots);
    own.push_back({machine, records[choose(records).chosen].backend, spots.size()});
  }
  return own;
}

LoneBackend answer_for(Demand demand, const Contests& contests) {
  LoneBackend answer;
  answer.demand = demand;
  answer.contests = contests;
  const Spots spots = spots_of(contests);
  answer.spots = spots.size();
  answer.backends = records_of(spots);
  const judge::LinkChoice choice = choose(answer.backends);
  for (const std::size_t open : choice.open) answer.open.push_back(answer.backends[open].backend);
  const std::string chosen = answer.backends[choice.chosen].backend;
  std::stable_sort(answer.backends.begin(), answer.backends.end(),
                   [&](const BackendRecord& a, const BackendRecord& b) {
                     return std::tuple(a.backend != chosen, a.missing, a.mean) <
                            std::tuple(b.backend != chosen, b.missing, b.mean);
                   });
  answer.own = own_choices(contests);
  return answer;
}

}  // namespace

bool LoneBackend::covers(const Contest& contest) const {
  return std::find(contests.begin(), contests.end(), &contest) != contests.end();
}

std::size_t LoneBackend::agreeing() const {
  return static_cast<std::size_t>(std::count_if(
      own.begin(), own.end(),
      [this](const OwnChoice& choice) { return choice.backend == chosen().backend; }));
}

std::vector<LoneBackend> find_lone_backends(const std::vector<Contest>& contests) {
  std::vector<LoneBackend> answers;
  for (const Demand demand : {Demand::prefill, Demand::decode}) {
    Contests chosen;
    for (const Contest* contest : most_exact(contests)) {
      if (demand_of(contest->shape) == demand) chosen.push_back(contest);
    }
    if (!chosen.empty()) answers.push_back(answer_for(demand, chosen));
  }
  return answers;
}

}  // namespace headroom::across
