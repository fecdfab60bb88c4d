// How much memory the arena of a layer should have.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/formulation.hpp"
#include "backends/backend.hpp"
#include "headroom/shape.hpp"

namespace headroom {

/// About what a layer will hold: rather too much, because the arena gives back what is not used.
/// @param products those of the formulation, without the output projection
/// @pre the shape is valid.
std::int64_t expected_bytes(const Shape& shape, const std::vector<PlannedProduct>& products,
                            const BackendFacts& facts, int threads);

}  // namespace headroom
