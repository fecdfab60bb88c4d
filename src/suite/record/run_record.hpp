// What environment.json says about a run: written before the first cell, completed after the last.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "machine/conditions.hpp"
#include "record/continuation.hpp"
#include "record/environment.hpp"
#include "record/journal.hpp"

namespace headroom::record {

/// In a fresh folder the run is the environment itself; a resumed run is an entry under `resumed`.
class RunRecord {
 public:
  /// @param journal must outlive this object
  RunRecord(Journal& journal, nlohmann::ordered_json environment, const Continuation& before);

  /// Writes everything that is known before the first cell. @throws ResourceError
  void begin(const Peaks& peaks);

  /// Share of processor time since `begin` that the hypervisor gave to other machines; empty if the
  /// system does not report it.
  std::optional<double> stolen_share() const;

  /// Adds the conditions during the run and its cautions.
  /// @throws ResourceError; then the record of `begin` stays.
  void finish(const std::vector<std::string>& cautions);

 private:
  nlohmann::ordered_json& entry();

  Journal& journal_;
  nlohmann::ordered_json environment_;
  bool resumed_ = false;
  std::optional<machine::ProcessorTime> start_;
};

}  // namespace headroom::record
