// The cost of checking, and the choices that follow from it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case.hpp"

namespace headroom::reference {

/// Consecutive sequences whose keys and values the direct order projects together: several short
/// ones, so that not each starts its own threads, but no more than one long one, so that memory
/// stays O(keys of a sequence).
std::int64_t group_sequences(const Case& shape);

/// Whether projecting all tokens first costs less than the factored order, for these rows.
/// @pre the shape has tokens.
bool direct_is_cheaper(const Case& shape, const std::vector<std::int64_t>& rows);

/// Whether these rows are computed in the direct order: with rotary positions there is no other,
/// all rows of a call without a past or a second input always are, and those of another call
/// wherever the direct order is a small effort or the cheaper one.
/// @pre the shape has tokens.
bool takes_direct_order(const Case& shape, const std::vector<std::int64_t>& rows);

/// All rows if checking them costs at most `max_flops`; otherwise as many as that allows, at least
/// 4; see `sampled_rows`.
std::vector<std::int64_t> affordable_rows(const Case& shape, double max_flops, std::uint64_t seed);

}  // namespace headroom::reference
