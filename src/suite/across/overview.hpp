// All that a page of several machines and versions may claim.
#pragma once

#include <cstddef>
#include <vector>

#include "across/head_panels.hpp"
#include "across/lone_backend.hpp"
#include "across/side_cases.hpp"
#include "across/thread_scaling.hpp"
#include "across/versus.hpp"

namespace headroom::across {

/// Refers to the collection, which must outlive it. It is moved and never copied, because its parts
/// refer to each other.
struct Overview {
  const Collection* collection = nullptr;
  std::vector<Joined> cells;
  std::vector<EnvironmentDifference> differences;
  std::vector<HeadPanel> head_panels;  ///< the founding question, machine by machine
  std::vector<Contest> contests;
  std::vector<LoneBackend> lone;  ///< one for each demand
  Matrices matrices;
  std::vector<Change> changes;
  std::size_t changes_left_out = 0;
  std::vector<ThreadRow> threads;
  std::vector<PrecisionRow> precisions;
  std::vector<ColdRow> cold;
  std::vector<ValueRow> value;
  std::size_t comparisons = 0;  ///< corrected together

  Overview() = default;
  Overview(const Overview&) = delete;
  Overview& operator=(const Overview&) = delete;
  Overview(Overview&&) = default;
  Overview& operator=(Overview&&) = default;
  ~Overview() = default;

  std::size_t verified_cells(std::size_t entry) const;
};

Overview look_over(const Collection& collection);

}  // namespace headroom::across
