// The results to choose from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
  /// The largest `whole_error` of a candidate. Without one, only those that are held to the limit
  /// of f32.
  std::optional<double> max_error = std::nullopt;
  std::vector<Numbers> stored = {Numbers{}};  ///< candidates store one of these
};

/// A measured way to compute a shape.
struct Candidate {
  const record::CellResult* result = nullptr;
  judge::Difference to_fastest;            ///< its time over that of the fastest
  judge::Loss loss = judge::Loss::little;  ///< by taking it in place of the fastest
};

/// The fastest of the candidates that store the same.
struct StorageBest {
  std::size_t candidate = 0;
  judge::Difference to_first;  ///< its time over that of the first storage
};

struct ShapePick {
  Case shape;
  std::vector<Candidate> candidates;  ///< by median, fastest first; at least one
  std::size_t chosen = 0;             ///< by `judge::choose_to_link`
  judge::Sureness sureness = judge::Sureness::alone;
  std::vector<std::string> left_out;             ///< cells without a time, with the reason
  std::vector<const record::CellResult*> peers;  ///< other libraries, which cannot be linked
  std::vector<StorageBest> storages;  ///< in the order of `Filters::stored`, if there are several
  /// What alone costs more than the error that is allowed, and how much.
  std::map<Numbers, double> too_far;
};

/// The results of a folder by their shapes; refers to both, which must outlive it.
class Collector {
 public:
  Collector(const record::ResultsFolder& folder, const Filters& filters);

  /// As `collect` for this one. @throws as `pick`.
  ShapePick of(const Case& shape) const;

  /// Whether the folder has any cell of it.
  bool has(const Case& shape) const;

  /// All from which a layer could be picked; empty if there is none.
  const std::vector<Case>& shapes() const { return shapes_; }

 private:
  using Results = std::vector<const record::CellResult*>;

  const record::ResultsFolder* folder_;
  const Filters* filters_;
  std::vector<Case> shapes_;
  std::map<std::string, Results> by_shape_;
};

/// For each shape the cells with a time that the filters allow, in no order, and those without one.
/// All of one process: that is what a program links.
/// @throws as `pick`.
std::vector<ShapePick> collect(const record::ResultsFolder& folder, const std::vector<Case>& shapes,
                               const Filters& filters);

}  // namespace headroom::pick
