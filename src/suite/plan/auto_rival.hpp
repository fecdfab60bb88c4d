// The backend `auto` among the rivals of a shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/cell.hpp"

namespace headroom::plan {

/// What distinguishes the rivals of a shape, besides their backend.
struct RivalAxes {
  std::vector<Formulation> formulations;
  std::vector<int> ranks;
  std::vector<int> threads;
  std::vector<Precision> precisions;
  Numbers stored = {};  ///< their precision does not count
  std::optional<Isa> isa = std::nullopt;
  std::optional<Unit> unit = std::nullopt;
};

/// Adds `auto` with the formulation that it chooses for the shape. If only some formulations are
/// given, adds it once for each of them. Each new warning goes to `warnings` once.
void add_auto(Group& group, const RivalAxes& axes, std::vector<std::string>& warnings);

}  // namespace headroom::plan
