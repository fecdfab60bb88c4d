// Which rows are checked where not all can be.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case.hpp"

namespace headroom::reference {

/// `count` of the rows, ascending, the same for the same seed on every machine. The first and the
/// last are always among them. Of the others about two thirds lie where kernels go wrong, at the
/// ends of sequences and beside the edges of tiles and key blocks; the rest may lie anywhere. No
/// fixed pattern: an error that keeps to the rows between would never be found.
/// @pre 2 <= count <= rows
std::vector<std::int64_t> sampled_rows(const Case& shape, std::int64_t count, std::uint64_t seed);

}  // namespace headroom::reference
