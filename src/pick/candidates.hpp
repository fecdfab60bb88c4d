// The results that a choice is made among.
#pragma once

#include <vector>

#include "pick/pick.hpp"

namespace headroom::pick {

/// For each shape its cells with a time that the filters allow, in no order, and the others.
/// @throws as `pick`.
std::vector<ShapePick> collect(const record::ResultsFolder& folder,
                               const std::vector<Shape>& shapes, const Filters& filters);

}  // namespace headroom::pick
