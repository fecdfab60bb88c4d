// The results that a choice is made among.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/formulation.hpp"
#include "judge/verdict.hpp"
#include "record/results_folder.hpp"

namespace headroom::pick {

/// What may be picked. An empty list allows everything.
struct Filters {
  std::vector<std::string> backends = {};
  std::vector<std::string> without = {};
  std::vector<Formulation> formulations = {};
  std::vector<int> threads = {};  ///< of threaded backends; one thread alone is always allowed
  std::string isa = {};           ///< of backends that have several
  std::optional<std::int64_t> max_packed_bytes = std::nullopt;
};

/// A measured way to compute a shape.
struct Candidate {
  const record::CellResult* result = nullptr;
  judge::Difference to_fastest;  ///< its time over the fastest one's
  bool tied = false;             ///< cannot be told apart from the fastest
};

struct ShapePick {
  Shape shape;
  std::vector<Candidate> candidates;  ///< by median, the fastest first; at least one
  std::size_t chosen = 0;             ///< of all that are tied, the one that is lightest to link
  std::vector<std::string> left_out;  ///< cells without a time, with the reason
};

/// For each shape its cells with a time that the filters allow, in no order, and the others.
/// @throws as `pick`.
std::vector<ShapePick> collect(const record::ResultsFolder& folder,
                               const std::vector<Shape>& shapes, const Filters& filters);

}  // namespace headroom::pick
