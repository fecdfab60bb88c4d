// The backend `auto` among the rivals of a shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/cell.hpp"

namespace headroom::plan {

/// Removes `auto` from the names of `--backend`. @return whether it was among them
bool take_auto(std::optional<std::string>& backends);

/// What distinguishes the rivals of a shape, besides their backend.
struct RivalAxes {
  const std::vector<Formulation>& formulations;
  const std::vector<int>& ranks;
  const std::vector<int>& threads;
  const std::vector<Precision>& precisions;
  Dtype dtype;
  std::optional<Isa> isa;
  std::optional<Unit> unit;
};

/// Adds `auto` with the formulation that it chooses for the shape. If only some formulations are
/// given, adds it once for each of them. Each new warning goes to `warnings` once.
void add_auto(Group& group, const RivalAxes& axes, std::vector<std::string>& warnings);

}  // namespace headroom::plan
