#include "plan/cell.hpp"

#include <fmt/format.h>

namespace headroom::plan {

std::size_t Plan::cell_count() const {
  std::size_t count = 0;
  for (const Group& group : groups) count += group.cells.size();
  return count;
}

std::string cell_id(const Shape& shape, const Cell& cell) {
  return fmt::format("{}/{}/f32/t{}/{}", to_string(cell.formulation), cell.backend, cell.threads,
                     shape.id());
}

}  // namespace headroom::plan
