// What one process of a group is to measure, and what it sends back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/timing_plan.hpp"
#include "record/result.hpp"

namespace headroom::measure {

/// One cell's samples in one process. The first process of a cell decides about all of them.
struct Assignment {
  std::size_t cell = 0;         ///< place in the group
  int samples = 0;              ///< 0: the first process, which decides
  std::int64_t iterations = 0;  ///< passes per sample
  double forward = 0;           ///< seconds per pass, as far as is known
  bool twice = false;           ///< its layer is timed twice
};

/// What one process measures: its cells interleaved.
struct Round {
  int process = 0;  ///< counted from 0
  std::vector<Assignment> cells;
};

/// What a process found out about a cell. A result that is not `ok` is final; one that is has only
/// the samples of this process.
struct Part {
  record::CellResult result;
  plan::SamplePlan plan;        ///< for the whole cell
  std::int64_t iterations = 0;  ///< as in `Assignment`
  double forward = 0;           ///< as in `Assignment`
};

}  // namespace headroom::measure
