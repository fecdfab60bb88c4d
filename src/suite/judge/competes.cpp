#include "judge/competes.hpp"

#include <fmt/format.h>

#include "backends/backend.hpp"

namespace headroom::judge {
namespace {

// The limits are those of the record: what is found beyond them was not found right.
bool within_limits(const record::CellResult& result) {
  const auto& error = *result.error;
  if (error.by_element()) return error.bound_ratio <= 1;
  return error.nrmse <= error.limits.nrmse && error.max_over_rms <= error.limits.max_over_rms;
}

}  // namespace

std::string why_not_verified(const record::CellResult& result) {
  if (!result.has_time()) {
    return fmt::format("{}: {}", to_string(result.status), result.reason);
  }
  if (!result.error || result.checked_rows <= 0) return "it was not checked";
  return within_limits(result) ? "" : "its error is beyond its limit";
}

bool verified(const record::CellResult& result) { return why_not_verified(result).empty(); }

// `auto` is another backend under a second name; a peer is no backend, and what is linked is one
// process.
bool competes(const record::CellResult& result) {
  return verified(result) && !result.peer && result.cell.ranks == 1 && result.cell.backend != kAuto;
}

}  // namespace headroom::judge
