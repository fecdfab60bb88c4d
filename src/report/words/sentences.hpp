// What a report says in words. Each sentence rests on a corrected comparison or on an interval.
#pragma once

#include <string>
#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// Shapes that have a time.
using Shapes = std::vector<const ShapeFindings*>;

/// How surely the backend is the one to link for these shapes. @pre at least one shape.
Prose sureness_sentence(const std::string& backend, const Shapes& shapes);

/// What the cell takes, and how it stands against `naive` and the best of the other backends.
Prose focus_sentence(const ShapeFindings& focus, const Contest& best);

/// How far the cell is from what the machine can do.
Prose limit_sentence(const Findings& findings, const record::CellResult& cell);

/// What one matrix split into heads wins over one small matrix a head, backend by backend; empty
/// where nothing was measured.
Prose split_sentence(const ShapeFindings& focus);

/// In how many shapes which backend wins.
Prose overall_sentence(const Findings& findings);

/// How many cells have which status where none has a time.
Prose without_times(const Findings& findings);

}  // namespace headroom::report
