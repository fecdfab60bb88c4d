// What one check of verify found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/result.hpp"
#include "reference/comparator.hpp"

namespace headroom::measure {

/// One check that was made, or why it was not.
struct VerifyCheck {
  std::string id;    ///< of the cell
  std::string isa;   ///< level that was forced; empty for backends without levels
  std::string unit;  ///< who multiplied parts; empty if nobody did
  reference::Data data = reference::Data::standard;
  record::Status status = record::Status::ok;
  std::string reason;
  std::optional<reference::Comparison> error;
  std::int64_t checked_rows = 0;
  std::int64_t rows = 0;
};

}  // namespace headroom::measure
