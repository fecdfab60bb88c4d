// Which backend to link for each shape, and how clear that is.
#pragma once

#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// One row per shape. @pre each has a cell with a time.
Table shape_table(const Findings& findings, const std::vector<const ShapeFindings*>& shapes);

/// What its columns say.
Prose shape_note();

}  // namespace headroom::report
