#include "trend/series.hpp"

#include <algorithm>
#include <map>

#include "trend/stretches.hpp"

namespace headroom::trend {

bool Gap::is_broken() const {
  return status && (record::is_broken(*status) || *status == record::Status::unsupported);
}

std::optional<Breach> Series::breach() const {
  std::map<std::size_t, bool> fine;  // of each version that says anything
  for (const Point& point : points) fine[point.version] = true;
  for (const Gap& gap : gaps) {
    if (gap.is_broken()) fine[gap.version] = false;
  }
  std::optional<Breach> breach;
  std::optional<std::size_t> last_fine;
  for (const auto& [version, is_fine] : fine) {
    if (is_fine) {
      last_fine = version;
      breach.reset();
    } else if (!breach) {
      breach = Breach{last_fine, version};
    }
  }
  return breach;
}

bool Series::broke() const {
  const std::optional<Breach> found = breach();
  return found && found->fine_until;
}

State Series::state() const {
  if (!steps.empty()) return State::stepped;
  if (maybe) return State::maybe;
  if (points.empty()) return State::untimed;
  return points.size() < kLeastVersions ? State::too_few : State::level;
}

std::optional<std::size_t> MachineTrend::newest_step() const {
  std::optional<std::size_t> newest;
  for (const Series& each : series) {
    if (!each.gates() || each.steps.empty()) continue;
    newest = std::max(newest.value_or(0), each.steps.back().after);
  }
  return newest;
}

}  // namespace headroom::trend
