// What a report says in words. Each sentence rests on a corrected comparison or on an interval.
#pragma once

#include <string>
#include <vector>

#include "report/findings/recommended.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// What to link, which formulation to use, and the speed-up. Where `naive` has no time for the
/// shape, the speed-up is over the backend that is furthest behind. Where there is no answer yet,
/// which cell has the lowest median.
Prose link_sentence(const ShapeFindings& focus, const Contest& best, Sureness sureness);

/// How clearly the backend wins these shapes, counted; empty for one, of which the table says it.
Prose sureness_sentence(const std::string& backend, const Shapes& shapes);

/// That it is unclear whether these backends, lighter to link than the recommended one, would do as
/// well; empty without any.
Prose open_sentence(const std::vector<std::string>& backends, const ShapeFindings& focus);

/// How long a pass takes, and how that compares with the next backend and the other formulations.
/// Where there is no answer yet, that of the lowest median, and what to use meanwhile.
Prose focus_sentence(const ShapeFindings& focus, const Contest& best, Sureness sureness);

/// What each precision of a shape gains over f32, and which are worth having; empty without f32.
Prose precision_sentence(const PrecisionFindings& shape);

/// How close the cell comes to the machine's limit.
Prose limit_sentence(const Findings& findings, const record::CellResult& cell);

/// The answer to the question that the project began with: what one wide matrix gains with more
/// heads, a sentence for each of at most two series (`split_gains`); empty without any. It opens a
/// report and ends a sweep.
Prose split_answer(const Findings& findings);

/// The same speed-ups for each backend, over all shapes; empty where nothing was measured.
Prose split_sentence(const Findings& findings);

/// How many cells have which status, for a folder without any time.
Prose without_times(const Findings& findings);

}  // namespace headroom::report
