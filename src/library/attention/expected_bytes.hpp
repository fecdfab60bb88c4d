// How much memory the arena of a layer should have.
#pragma once

#include <cstdint>

#include "attention/formulation.hpp"
#include "backends/backend.hpp"
#include "core/case.hpp"

namespace headroom {

/// About what a layer will hold: rather too much, because the arena gives back what is not used.
/// @param products those of the formulation, without the output projection
/// @param does what the backend makes of the layer's precision and dtype
/// @pre the shape is valid.
std::int64_t expected_bytes(const Case& shape, const PlannedProducts& products,
                            const BackendFacts& facts, const Arithmetic& does, int threads);

/// About what the keys and values of a cache will hold. Saturates instead of overflowing.
std::int64_t expected_cache_bytes(const Case& shape, std::int64_t sequences, std::int64_t capacity);

}  // namespace headroom
