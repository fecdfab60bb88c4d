// Results that say more than they can show.
#pragma once

#include <string>

#include "record/result.hpp"

namespace headroom::store {

/// Why a cell with a time may not be ranked, although its record says `ok`: nothing of it was
/// checked, its error is above the limit that this program holds everybody to, its times are not
/// those of its samples, or they are faster than the machine. Empty for what stands the test.
/// @pre it has a time
std::string why_unverified(const record::CellResult& result);

}  // namespace headroom::store
