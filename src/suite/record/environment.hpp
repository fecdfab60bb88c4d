// The machine and the program as they were when the cells were measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "headroom/unit.hpp"
#include "machine/counters/usage_meter.hpp"
#include "plan/cell.hpp"
#include "processor/unit_facts.hpp"
#include "record/peaks.hpp"

namespace headroom::record {

/// Everything except the peaks and the run's own settings.
/// @param sources of energy and counters, of which it says what they offer
nlohmann::ordered_json describe_environment(const Target& target,
                                            const machine::UsageSources& sources = {});

/// The level and the unit in use, those that are available, and why a unit is not.
nlohmann::ordered_json describe_target(const Target& target, const UnitFacts& facts);

/// The file of the weights, its layer and the fingerprint of the tensors that are read; null for
/// drawn weights.
nlohmann::ordered_json describe_weights(const plan::Plan& plan);

/// Version of the source that this program was built from, such as `"1a2b3c4"`. If that is not a
/// commit, the program's own fingerprint is appended: `"1a2b3c4-dirty+90ab12cd34ef5678"`.
std::string source_revision();

bool is_release_build();

/// Now, in UTC, such as `"2026-01-31T12:00:00Z"`.
std::string utc_now();

}  // namespace headroom::record
