// The verdict of a report: what to link, the speed-up, how clear that is, and what remains. Where
// shapes ask for prefill and others for decode, these are two questions with two answers.
#pragma once

#include <string>
#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

struct Conclusion {
  /// What to link for all shapes together: "Link tbb.", or "Prefill: link tbb. Decode: link xsimd."
  Prose headline;
  std::string focus;             ///< `contest_name` that it is explained at; empty without any time
  Prose split;                   ///< what one wide matrix gains with more heads; may be empty
  Table answers;                 ///< what to link for each shape; no rows without any time
  std::vector<Prose> sentences;  ///< paragraphs; no claim without an interval
  Table every_shape;             ///< all shapes with a time
  Prose shape_note;              ///< what its columns and marks say
};

Conclusion conclude(const Findings& findings);

}  // namespace headroom::report
