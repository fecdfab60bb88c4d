// The backend `auto` among the rivals of a shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/cell.hpp"

namespace headroom::plan {

/// Takes `auto` out of the names of `--backend`. @return whether it was there
bool take_auto(std::optional<std::string>& backends);

/// What the rivals of a shape are told apart by, besides their backend.
struct RivalAxes {
  const std::vector<Formulation>& formulations;
  const std::vector<int>& threads;
  std::optional<Isa> isa;
};

/// Adds `auto` under the formulation that it chooses for the shape: among all of them, or under
/// each of the given ones where those are not all. What it warns of goes to `warnings`, once.
void add_auto(Group& group, const RivalAxes& axes, std::vector<std::string>& warnings);

}  // namespace headroom::plan
