// Many tests at once: some are significant by chance.
#pragma once

#include <vector>

namespace headroom::statistics {

/// Corrects the p-values of many tests to control the false discovery rate (Benjamini and Hochberg
/// 1995, J. R. Stat. Soc. B 57): of the differences claimed at a level, no more than that share is
/// expected to be false. We tried Holm's correction, under which no one of 100 cells with few
/// samples could be called different. Drift moves the cells of a run together, and this correction
/// also holds under such positive dependence.
std::vector<double> correct_for_many(const std::vector<double>& p);

}  // namespace headroom::statistics
