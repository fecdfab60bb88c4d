// One backend for all machines, for a user who links once and ships.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "across/standings.hpp"
#include "core/call/demand.hpp"

namespace headroom::across {

/// A contest on one machine.
struct Spot {
  const Contest* contest = nullptr;
  const Standing* standing = nullptr;
  const Rival* rival = nullptr;  ///< the backend's own; null without a verified time
};

/// A backend over all shapes of all machines.
struct BackendRecord {
  std::string backend;
  std::size_t good = 0;     ///< spots where at most the margin is lost
  std::size_t unknown = 0;  ///< where that or more is
  std::size_t behind = 0;   ///< where more is
  std::size_t missing = 0;  ///< where it has no verified time
  /// Mean of its time over the fastest one's, of the machines, each a mean of its shapes
  /// (geometric).
  double mean = 1;
  Spot worst;  ///< by `Rival::to_fastest`; empty without any time
};

/// What one machine alone would link.
struct OwnChoice {
  std::size_t machine = 0;
  std::string backend;
  std::size_t spots = 0;
};

/// For the shapes of one demand.
struct LoneBackend {
  Demand demand = Demand::prefill;
  std::vector<const Contest*> contests;  ///< that were asked
  std::size_t spots = 0;                 ///< these, counted once for each machine that has them
  std::vector<BackendRecord> backends;   ///< the one to link first, then the fastest
  std::vector<std::string> open;         ///< lighter to link, and perhaps as good everywhere
  std::vector<OwnChoice> own;

  bool covers(const Contest& contest) const;
  const BackendRecord& chosen() const { return backends.front(); }
  /// Machines that would link the same if they were alone.
  std::size_t agreeing() const;
};

/// By the rule of `pick`, over the contests whose numbers are the most exact; of cold caches only
/// where nothing else was measured. A machine counts as much as any other, however many shapes it
/// has. Refers to the contests.
std::vector<LoneBackend> find_lone_backends(const std::vector<Contest>& contests);

}  // namespace headroom::across
