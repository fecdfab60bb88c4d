// Which backend to link for each shape, and how clear that is.
#pragma once

#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"
#include "show/shares.hpp"

namespace headroom::report {

/// One row per shape. @pre each has a cell with a time.
/// @param shares remembers which of them are above 100 %
Table shape_table(const Findings& findings, const std::vector<const ShapeFindings*>& shapes,
                  show::Shares& shares);

/// What its columns say, and why shares are above 100 %.
Prose shape_note(const show::Shares& shares);

}  // namespace headroom::report
