// What environment.json says of a run: written before the first cell, completed after the last.
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

/// The run as a whole where the folder is fresh, an entry of its own under `resumed` where it goes
/// on.
class RunRecord {
 public:
  /// @param journal has to outlive this object
  RunRecord(Journal& journal, nlohmann::ordered_json environment, const Continuation& before);

  /// Writes all that is known before the first cell. @throws ResourceError
  void begin(const Peaks& peaks);

  /// Share of the processors' time since `begin` that the hypervisor gave to other machines; empty
  /// where the system does not tell.
  std::optional<double> stolen_share() const;

  /// Adds what the run went through. @throws ResourceError; then the record of `begin` stays.
  void finish(const std::vector<std::string>& cautions);

 private:
  nlohmann::ordered_json& entry();

  Journal& journal_;
  nlohmann::ordered_json environment_;
  bool resumed_ = false;
  std::optional<machine::ProcessorTime> start_;
};

}  // namespace headroom::record
