// Chooses the backend and formulation for one or several shapes from measured results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/call/demand.hpp"
#include "judge/verdict.hpp"
#include "pick/candidates.hpp"
#include "pick/link_cost.hpp"
#include "record/results_folder.hpp"

namespace headroom::pick {

/// A backend with its settings, used for every shape.
struct Configuration {
  std::string backend;
  Formulation formulation = Formulation::split;
  int threads = 1;
  Numbers numbers = {};
  double worst_error = 0;                  ///< the largest nrmse that was found
  double mean_loss = 1;                    ///< time over the fastest of each shape, geometric mean
  double worst_loss = 1;                   ///< the largest of these ratios
  std::string worst_shape = {};            ///< the shape with that ratio
  std::size_t missing = 0;                 ///< shapes for which it has no time
  judge::Loss loss = judge::Loss::little;  ///< the largest of all shapes
  bool level = true;                       ///< it may be as fast as the fastest of every shape
  statistics::Interval times_fastest = {1, 1};  ///< its time over the fastest's, 95 %, where that
                                                ///< reaches highest
};

/// A candidate that may be as good as the fastest of its shape, and is lighter to link.
struct OpenCandidate {
  std::size_t shape = 0;
  std::size_t candidate = 0;
};

/// The configuration to use for the shapes of one demand.
struct Answer {
  Demand demand = Demand::prefill;
  Configuration configuration;
  judge::Sureness sureness = judge::Sureness::alone;
  std::vector<Configuration> open;  ///< lighter, and perhaps as good
};

/// Whose results a pick is from, if not this machine's. Then its verdicts are those of the other
/// machine, and here it is no more than borrowed.
struct Borrowed {
  std::string machine;    ///< its name in the store
  std::string processor;  ///< as people read it
  std::string here;       ///< this machine's
  bool named = false;     ///< the user named it; else it is the nearest that has the shapes
  std::string nearness;   ///< such as `"near"`
  double distance = 0;    ///< see `store::distance`
  std::string reasons;    ///< what is the same and what differs
  /// What such answers lost where the machines of the store were asked about each other; empty if
  /// no two of them have the shapes.
  std::string evidence = {};
};

/// Refers to the folder, which must outlive it.
struct Pick {
  const record::ResultsFolder* folder = nullptr;
  std::vector<ShapePick> shapes;
  Configuration lowest;                               ///< the one with the lowest medians
  std::vector<Configuration> configurations;          ///< the best of each backend, best first
  std::size_t chosen = 0;                             ///< index into the configurations
  judge::Sureness sureness = judge::Sureness::alone;  ///< of all shapes together
  std::vector<std::size_t> open;                      ///< lighter than that, and perhaps as good
  std::vector<OpenCandidate> open_candidates;         ///< what leaves them open, or an answer's
  std::vector<Answer> answers;  ///< for prefill and for decode, if there are shapes of both
  std::map<std::string, LinkCost> costs;  ///< by backend
  double margin = 0;                      ///< ratio minus 1 up to which times count as the same
  std::string note;                       ///< how measuring on ended, if that was needed
  std::optional<Borrowed> borrowed;       ///< empty for results of this machine

  const Configuration& choice() const { return configurations[chosen]; }
  /// Whether a lighter backend was chosen, which loses little against the fastest.
  bool lighter_won() const { return chosen != 0; }
  /// Whether all shapes, those of prefill or those of decode have no answer yet.
  bool unclear() const;
};

/// @param shapes to pick for; empty: all of the folder
/// @throws InvalidArgument for a shape that the folder does not have, naming the nearest ones, and
///         if the filters leave nothing. If no cell has a time: std::runtime_error if one failed or
///         crashed, Unavailable if all are unsupported, otherwise ResourceError.
Pick pick(const record::ResultsFolder& folder, const std::vector<Case>& shapes,
          const Filters& filters);

/// The same for each shape alone, as if nothing else had been asked: the shapes of such picks.
/// Those for which `pick` would throw are left out, all of them where there is nothing to pick
/// from.
/// @param shapes empty: all of the folder
std::vector<ShapePick> pick_each(const record::ResultsFolder& folder,
                                 const std::vector<Case>& shapes, const Filters& filters);

/// The ratio minus 1 up to which times of a folder count as the same.
double margin_of(const record::ResultsFolder& folder);

/// That cells of several ranks were not judged, and how many; empty if there were none.
std::string left_out_ranks(const record::ResultsFolder& folder);

/// The same of cells of attention alone.
std::string left_out_attention(const record::ResultsFolder& folder);

/// What differs if the results are from another machine; empty if they are from this one.
std::string other_machine(const record::ResultsFolder& folder);

/// For people.
std::string to_text(const Pick& pick);

/// A file for `include()`: defines the target `headroom::pick`.
std::string to_cmake(const Pick& pick);

/// A tuning file for tools and for the backend `auto`: schema `headroom.tuning/1`.
std::string to_json(const Pick& pick);

}  // namespace headroom::pick
