// Energy and counters of cells in tables, where a machine told them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/result.hpp"

namespace headroom::show {

/// Three digits with a prefix, such as `"12.3 mJ"` or `"1.23 G"`.
std::string format_amount(double amount, std::string_view unit = "");

/// Columns of a table for people, of which there are only those that some cell of it needs.
class UsageColumns {
 public:
  explicit UsageColumns(const std::vector<const record::CellResult*>& cells);

  std::string head() const;
  std::string fields(const record::CellResult& cell) const;

 private:
  bool energy_ = false;
  bool counters_ = false;
};

/// What the columns mean; empty if no cell has any.
std::string usage_note(const std::vector<record::CellResult>& cells);

}  // namespace headroom::show
