// The verdict of a report: what to link, by how much, how sure that is, and what is left.
#pragma once

#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

struct Conclusion {
  Prose headline;                ///< such as "For 96 heads, link tbb."
  std::vector<Prose> sentences;  ///< nothing that an interval does not support
  Table most_heads;              ///< the shapes with the most heads; no rows without any time
  Table every_shape;             ///< all of them
};

Conclusion conclude(const Findings& findings);

}  // namespace headroom::report
