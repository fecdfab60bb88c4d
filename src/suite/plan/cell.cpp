#include "plan/cell.hpp"

#include <fmt/format.h>

#include "plan/shapes/op.hpp"

namespace headroom::plan {

std::size_t Plan::cell_count() const {
  std::size_t count = 0;
  for (const Group& group : groups) count += group.cells.size();
  return count;
}

AttentionOptions Cell::options() const {
  AttentionOptions options{backend, formulation, threads, isa};
  options.unit = unit;
  options.precision = any_precision ? std::nullopt : std::optional(numbers.precision);
  options.dtype = numbers.dtype;
  options.weights_dtype = numbers.weights;
  options.cache_dtype = numbers.cache;
  options.kernels = kernels;
  options.few_rows = few_rows;
  return options;
}

std::string_view way_of(const Case& shape, const Cell& cell) {
  return shape.has_projections() ? to_string(cell.formulation) : to_string(Op::attention);
}

std::string numbers_words(const Cell& cell) {
  const std::string numbers = headroom::to_string(cell.numbers);
  return cell.any_precision ? fmt::format("{}: {}", kAnyLikeF32, numbers) : numbers;
}

namespace {

// What was asked for: the same cell whatever `auto` takes, as its backend has it.
std::string numbers_in_id(const Cell& cell) {
  std::string name = headroom::to_string(cell.numbers);
  if (cell.any_precision) {
    name.replace(0, to_string(cell.numbers.precision).size(), kAnyLikeF32);
  }
  return name;
}

}  // namespace

std::string cell_id(const Case& shape, const Cell& cell) {
  const std::string ranks = cell.ranks > 1 ? fmt::format("r{}", cell.ranks) : "";
  std::string variant = cell.kernels.empty() ? "" : "." + cell.kernels;
  if (cell.few_rows) variant += fmt::format(".rows{}", *cell.few_rows);
  return fmt::format("{}/{}{}/{}/{}t{}/{}", way_of(shape, cell), cell.backend, variant,
                     numbers_in_id(cell), ranks, cell.threads, shape.id());
}

}  // namespace headroom::plan
