// A pick from a store of many machines: this machine's own results, else those of the nearest one.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headroom/unit.hpp"
#include "machine/meters/peak.hpp"
#include "pick/neighbours/stored_results.hpp"
#include "pick/pick.hpp"
#include "store/catalogue.hpp"
#include "store/machine_distance.hpp"

namespace headroom::pick {

/// This machine as a sweep would record it, with multiply-adds and clock of one thread, which take
/// a tenth of a second. @param limits_of may be null: then nobody knows them
nlohmann::ordered_json this_machine(const Target& target, machine::LimitKernelsOf limits_of);

struct StoreQuestion {
  std::vector<Case> shapes;  ///< empty: all of the run that decides
  Filters filters;
  std::optional<std::string> machine;  ///< a name in the store; empty: this one, or the nearest
  nlohmann::ordered_json here;         ///< this machine's environment, with its peaks if known
};

struct StoreAnswer {
  StoredResults::Folder folder;  ///< the run that decided
  Pick pick;
  std::vector<std::string> notes;
};

/// The newest run of this machine that has the shapes decides. Without one, runs of other machines
/// are asked, the nearest machine first and its newest run first; what they answer is `borrowed`.
/// @param results of the store's runs, for whoever asks more of them
/// @throws InvalidArgument for a machine that is not in the store; Unavailable if all machines have
///         another architecture; as `pick` if no run has an answer.
StoreAnswer pick_from_store(const store::Catalogue& catalogue, const StoreQuestion& question,
                            StoredResults& results);

/// A machine of the store, and how far it is.
struct Neighbour {
  const store::StoredMachine* machine = nullptr;
  store::MachineDistance distance;
};

/// Those of the same architecture, nearest first, but for the one of that name.
std::vector<Neighbour> neighbours(const store::Catalogue& catalogue,
                                  const nlohmann::ordered_json& environment,
                                  const std::string& but_for);

/// An environment with which machines are compared: that of the newest run, and the peaks of the
/// newest one that has them.
nlohmann::ordered_json facts_environment(const store::StoredMachine& machine);

}  // namespace headroom::pick
