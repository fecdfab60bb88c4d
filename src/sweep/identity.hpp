// What makes two runs parts of one sweep: program, machine, settings and axes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sweep/axes.hpp"
#include "sweep/cells.hpp"

namespace headroom::sweep {

/// One of several equal parts of a plan; the first has the index 1.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// @param text such as `3/8`. @throws InvalidArgument for anything else.
Shard parse_shard(const std::string& option, const std::string& text);

/// Keeps every `count`-th shape, beginning with the `index`-th: neighbours are alike in cost, so
/// that each part gets its share of the dear ones. All rivals of a shape stay together.
void keep_shard(Plan& plan, const Shard& shard);

/// What is recorded of the whole plan, before a shard of it is taken.
struct SweepIdentity {
  Axes axes;
  std::size_t cells = 0;
  std::string fingerprint;  ///< of the ids of all cells
  std::optional<Shard> shard;
};
SweepIdentity identity_of(const Axes& axes, const Plan& plan, const std::optional<Shard>& shard);
nlohmann::ordered_json to_json(const SweepIdentity& identity);

enum class Shards { must_match, may_differ };

/// Why the results of two environments must not stand in one folder, each with both values; empty
/// if they may. What varies from hour to hour (load, frequency, peaks) is not among it.
std::vector<std::string> identity_differences(const nlohmann::ordered_json& first,
                                              const std::string& first_name,
                                              const nlohmann::ordered_json& second,
                                              const std::string& second_name, Shards shards);

}  // namespace headroom::sweep
