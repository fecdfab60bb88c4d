// What a report says in words. Each sentence rests on a corrected comparison or on an interval.
#pragma once

#include <string>
#include <vector>

#include "report/findings/recommended.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// What to link, which formulation to use, and the speed-up. Where `naive` has no time for the
/// shape, the speed-up is over the backend that is furthest behind.
Prose link_sentence(const ShapeFindings& focus, const Contest& best);

/// How clearly the backend wins these shapes. @pre at least one shape.
Prose sureness_sentence(const std::string& backend, const Shapes& shapes);

/// That it is not known whether these backends, lighter to link than the recommended one, would do
/// as well; empty without any.
Prose open_sentence(const std::vector<std::string>& backends, const ShapeFindings& focus);

/// How long a pass takes, and how that compares with the next backend and the other formulations.
Prose focus_sentence(const ShapeFindings& focus, const Contest& best);

/// What the headline is about: cells with a time that store the most and compute the most exactly.
Numbers most_exact_of(const Findings& findings);

/// What each precision of a shape gains over f32, and which are worth having; empty without f32.
Prose precision_sentence(const PrecisionFindings& shape);

/// How close the cell comes to the machine's limit.
Prose limit_sentence(const Findings& findings, const record::CellResult& cell);

/// The speed-up of one wide matrix over one small matrix per head, for each backend; empty where
/// nothing was measured.
Prose split_sentence(const ShapeFindings& focus);

/// How many cells have which status, for a folder without any time.
Prose without_times(const Findings& findings);

}  // namespace headroom::report
