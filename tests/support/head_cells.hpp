// Cells of one width and any number of heads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/sample_machines.hpp"

namespace headroom::test {

inline record::CellResult head_cell(const std::string& backend, Formulation formulation,
                                    std::int64_t heads, const std::vector<double>& samples,
                                    int threads = 1, std::int64_t width = 96,
                                    std::int64_t tokens = 8) {
  record::CellResult result = machine_cell(backend, heads, samples, threads);
  result.cell.formulation = formulation;
  result.shape.tokens = tokens;
  result.shape.d_in = result.shape.d_out = result.shape.d_proj = width;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return result;
}

}  // namespace headroom::test
