// What fewer bits gain or lose, shape by shape.
#pragma once

#include <string>
#include <vector>

#include "pick/candidates.hpp"

namespace headroom::pick {

/// Finds the fastest candidate of each storage and compares it with that of the first one, where a
/// shape has that. @pre candidates are in order of their times
void compare_storages(const std::vector<Numbers>& stored, double noise_floor,
                      std::vector<ShapePick>& shapes);

/// A table for people; empty for one storage.
std::string storage_table(const ShapePick& shape);

}  // namespace headroom::pick
