// What is left to choose among the rivals of a shape: the backend `auto`, and precisions that
// nobody asked for by name.
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
  std::vector<Precision> precisions;  ///< of backends by name
  /// Of `auto`; empty: whatever it takes of those as exact as f32.
  std::vector<std::optional<Precision>> asked = {Precision::f32};
  Numbers stored = {};  ///< their precision does not count
  std::optional<Isa> isa = std::nullopt;
  std::optional<Unit> unit = std::nullopt;
};

/// Adds `auto` with the formulation that it chooses for the shape. If only some formulations are
/// given, adds it once for each of them. Each new warning goes to `warnings` once.
void add_auto(Group& group, const RivalAxes& axes, std::vector<std::string>& warnings);

/// A backend by name is measured with each that `auto` could take; each once, in order.
std::vector<Precision> precisions_by_name(const std::vector<std::optional<Precision>>& asked);

/// Whether a cell has another precision than f32.
bool has_parts(const std::vector<Cell>& cells);

/// Leaves out what a backend declines, unless it was asked for by name.
void drop_declined_parts(const std::vector<std::optional<Precision>>& asked,
                         std::vector<Cell>& cells);

}  // namespace headroom::plan
