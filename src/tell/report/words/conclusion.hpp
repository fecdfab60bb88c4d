// The verdict of a report: what to link, the speed-up, how clear that is, and what remains. Where
// shapes ask for prefill and others for decode, these are two questions with two answers.
#pragma once

#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

struct Conclusion {
  /// Such as "For 96 heads, link tbb.", or "Prefill with 96 heads: link tbb. Decode with 32 heads:
  /// link xsimd."
  Prose headline;
  std::vector<Prose> sentences;  ///< paragraphs; no claim without an interval
  Table most_heads;              ///< the shapes with the most heads; no rows without any time
  Table every_shape;             ///< all shapes with a time
};

Conclusion conclude(const Findings& findings);

}  // namespace headroom::report
