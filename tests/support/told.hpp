// Cells that a report tells of, and its rows as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/cell.hpp"
#include "report/words/prose.hpp"
#include "support/sample_results.hpp"

namespace headroom::test {

inline record::CellResult cell(const std::string& backend, Formulation formulation,
                               std::int64_t heads, const std::vector<double>& samples,
                               int threads = 1, std::int64_t tokens = 4) {
  record::CellResult result = sample_result(backend, formulation);
  result.shape.heads = heads;
  result.shape.tokens = tokens;
  result.shape.d_in = result.shape.d_out = result.shape.d_proj = 4 * heads;
  result.threads = result.cell.threads = threads;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return with_time(std::move(result), samples);
}

inline std::string row_text(const report::Table& table, std::size_t row) {
  std::string text;
  for (const report::Prose& each : table.rows.at(row)) {
    text += (text.empty() ? "" : " | ") + report::plain_text(each);
  }
  return text;
}

inline constexpr auto kSplit = Formulation::split;
inline constexpr auto kWrapper = Formulation::wrapper;

}  // namespace headroom::test
