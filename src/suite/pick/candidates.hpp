// The results to choose from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/formulation.hpp"
#include "judge/link_choice.hpp"
#include "judge/verdict.hpp"
#include "record/results_folder.hpp"

namespace headroom::pick {

/// What may be picked. An empty list allows everything.
struct Filters {
  std::vector<std::string> backends = {};
  std::vector<std::string> without = {};
  std::vector<Formulation> formulations = {};
  std::vector<int> threads = {};  ///< for threaded backends; one thread is always allowed
  std::string isa = {};           ///< for backends with several levels
  std::string unit = {};          ///< for cells that a unit multiplied
  std::optional<std::int64_t> max_packed_bytes = std::nullopt;
  std::vector<Precision> precisions = {};
  /// The largest nrmse of a candidate. Without one, only those that are held to the limit of f32.
  std::optional<double> max_error = std::nullopt;
  Numbers stored = {};  ///< candidates store this, and nothing else is asked
};

/// A measured way to compute a shape.
struct Candidate {
  const record::CellResult* result = nullptr;
  judge::Difference to_fastest;            ///< its time over that of the fastest
  judge::Loss loss = judge::Loss::little;  ///< by taking it in place of the fastest
};

struct ShapePick {
  Case shape;
  std::vector<Candidate> candidates;             ///< by median, fastest first; at least one
  std::size_t chosen = 0;                        ///< the lightest of those that lose little
  std::vector<std::string> left_out;             ///< cells without a time, with the reason
  std::vector<const record::CellResult*> peers;  ///< other libraries, which cannot be linked
};

/// For each shape the cells with a time that the filters allow, in no order, and those without one.
/// All of one process: that is what a program links.
/// @throws as `pick`.
std::vector<ShapePick> collect(const record::ResultsFolder& folder, const std::vector<Case>& shapes,
                               const Filters& filters);

}  // namespace headroom::pick
