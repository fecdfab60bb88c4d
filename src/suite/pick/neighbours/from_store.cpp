#include "pick/neighbours/from_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "core/nearest.hpp"
#include "core/text/shown.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "program/json_text.hpp"
#include "record/environment.hpp"
#include "record/peaks.hpp"
#include "store/kept_places.hpp"

namespace headroom::pick {
namespace {

using nlohmann::ordered_json;

// A machine that is asked, and how it stands to this one.
struct Asked {
  const store::StoredMachine* machine = nullptr;
  std::optional<Borrowed> borrowed;
  std::int64_t cores = 0;  ///< allowed there
};

std::vector<std::string> names_of(const store::Catalogue& catalogue) {
  std::vector<std::string> names;
  for (const store::StoredMachine& machine : catalogue.machines) names.push_back(machine.name);
  return names;
}

const store::StoredMachine* find(const store::Catalogue& catalogue, const std::string& name) {
  const auto found =
      std::find_if(catalogue.machines.begin(), catalogue.machines.end(),
                   [&](const store::StoredMachine& each) { return each.name == name; });
  return found == catalogue.machines.end() ? nullptr : &*found;
}

Asked asked_other(const store::StoredMachine& machine, const store::MachineDistance& distance,
                  const std::string& here) {
  Asked asked{&machine, Borrowed{}, store::facts_of(machine.runs.front().environment).cores};
  asked.borrowed->machine = machine.name;
  asked.borrowed->processor = machine.processor;
  asked.borrowed->here = here;
  asked.borrowed->nearness = to_string(distance.nearness());
  asked.borrowed->distance = distance.distance;
  asked.borrowed->reasons = distance.words();
  return asked;
}

std::vector<Asked> asked_by_name(const store::Catalogue& catalogue, const StoreQuestion& question,
                                 const store::Origin& here) {
  const store::StoredMachine* machine = find(catalogue, *question.machine);
  if (machine == nullptr) {
    throw InvalidArgument(fmt::format("--machine: '{}' is not in the store; {}",
                                      shown_text(*question.machine),
                                      suggest(*question.machine, names_of(catalogue))));
  }
  if (machine->name == here.machine) return {{machine, {}, 0}};
  const auto distance =
      store::distance(store::facts_of(question.here), store::facts_of(facts_environment(*machine)));
  if (!distance) {
    throw Unavailable(fmt::format(
        "--machine: {} has another architecture than this machine ({}), and so has other kernels; "
        "name another, or measure here with headroom pick without --from",
        machine->name, here.processor));
  }
  std::vector<Asked> asked{asked_other(*machine, *distance, here.processor)};
  asked.front().borrowed->named = true;
  return asked;
}

std::vector<Asked> asked_in_order(const store::Catalogue& catalogue, const StoreQuestion& question,
                                  const store::Origin& here) {
  std::vector<Asked> asked;
  if (const auto* own = find(catalogue, here.machine)) asked.push_back({own, {}, 0});
  for (const Neighbour& each : neighbours(catalogue, question.here, here.machine)) {
    asked.push_back(asked_other(*each.machine, each.distance, here.processor));
  }
  if (!asked.empty()) return asked;
  throw Unavailable(fmt::format(
      "the store has no machine of the architecture of this one ({}), but: {}; measure here with "
      "headroom pick without --from",
      here.processor, fmt::join(names_of(catalogue), ", ")));
}

// Nobody links more threads than there are cores.
Filters filters_here(const Filters& filters, const Asked& asked, std::int64_t cores) {
  Filters here = filters;
  if (!asked.borrowed || !here.threads.empty() || cores < 1 || cores >= asked.cores) return here;
  here.threads.resize(static_cast<std::size_t>(cores));
  std::iota(here.threads.begin(), here.threads.end(), 1);
  return here;
}

}  // namespace

ordered_json this_machine(const Target& target, machine::LimitKernelsOf limits_of) {
  constexpr int kBursts = 20;
  ordered_json environment = record::describe_environment(target);
  const machine::LimitKernels kernels =
      limits_of == nullptr ? machine::LimitKernels{} : limits_of(target);
  if (kernels.fma == nullptr) return environment;
  machine::FmaMeter meter(1, kernels.fma);
  record::Peaks peaks;
  peaks.target = target;
  for (int burst = 0; burst < kBursts; ++burst) {
    const double gflops = meter.sample();
    if (gflops <= peaks.fma_gflops[1]) continue;
    peaks.fma_gflops[1] = gflops;
    if (const auto clock = meter.clock_ghz()) peaks.clock_ghz[1] = *clock;
  }
  environment["peaks"] = record::to_json(peaks);
  return environment;
}

ordered_json facts_environment(const store::StoredMachine& machine) {
  ordered_json environment = machine.runs.front().environment;
  for (const store::StoredRun& run : machine.runs) {
    const store::MachineFacts facts = store::facts_of(run.environment);
    if (facts.multiply_adds == 0) continue;
    environment["peaks"] = run.environment.at("peaks");
    break;
  }
  return environment;
}

std::vector<Neighbour> neighbours(const store::Catalogue& catalogue,
                                  const ordered_json& environment, const std::string& but_for) {
  const store::MachineFacts here = store::facts_of(environment);
  std::vector<Neighbour> all;
  for (const store::StoredMachine& machine : catalogue.machines) {
    if (machine.name == but_for) continue;
    auto distance = store::distance(here, store::facts_of(facts_environment(machine)));
    if (distance) all.push_back({&machine, *std::move(distance)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.distance.distance < b.distance.distance;
  });
  return all;
}

StoreAnswer pick_from_store(const store::Catalogue& catalogue, const StoreQuestion& question,
                            StoredResults& results) {
  // As it would be named if it had been collected.
  const store::Origin here =
      store::origin_of(store::kept_of(question.here, store::PlainWords()).environment);
  const std::int64_t cores = store::facts_of(question.here).cores;
  StoreAnswer answer;
  std::exception_ptr first;
  for (const Asked& asked : question.machine ? asked_by_name(catalogue, question, here)
                                             : asked_in_order(catalogue, question, here)) {
    for (const store::StoredRun& run : asked.machine->runs) {
      try {
        answer.folder = results.of(run);
        answer.pick =
            pick(*answer.folder, question.shapes, filters_here(question.filters, asked, cores));
        answer.pick.borrowed = asked.borrowed;
        answer.notes.insert(answer.notes.end(), answer.folder->notes.begin(),
                            answer.folder->notes.end());
        return answer;
      } catch (const std::exception& error) {
        if (first == nullptr) first = std::current_exception();
        answer.notes.push_back(fmt::format("passed over: {}", error.what()));
      }
    }
  }
  std::rethrow_exception(first);
}

}  // namespace headroom::pick
