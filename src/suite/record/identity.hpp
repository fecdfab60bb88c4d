// What makes two runs parts of one sweep: program, machine, settings and axes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/axes.hpp"
#include "plan/cell.hpp"
#include "plan/shard.hpp"

namespace headroom::record {

/// What is recorded about the whole plan, before it is reduced to a shard.
struct SweepIdentity {
  plan::Axes axes;
  std::size_t cells = 0;
  std::string fingerprint;  ///< of the ids of all cells
  std::optional<plan::Shard> shard;
};
SweepIdentity identity_of(const plan::Axes& axes, const plan::Plan& plan,
                          const std::optional<plan::Shard>& shard);
nlohmann::ordered_json to_json(const SweepIdentity& identity);

enum class Shards { must_match, may_differ };

/// Why the results of two environments must not share a folder, each reason with both values; empty
/// if they may. What varies from hour to hour (load, frequency, peaks) is not compared.
std::vector<std::string> identity_differences(const nlohmann::ordered_json& first,
                                              const std::string& first_name,
                                              const nlohmann::ordered_json& second,
                                              const std::string& second_name, Shards shards);

}  // namespace headroom::record
