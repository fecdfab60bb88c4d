// Which variant of a backend's kernels is fastest on this machine: measured, interleaved, and
// judged like every comparison.
#pragma once

#include <string>
#include <vector>

#include "headroom/isa.hpp"
#include "headroom/shape.hpp"
#include "judge/verdict.hpp"
#include "measure/observer.hpp"
#include "measure/settings.hpp"

namespace headroom::tune {

struct TuneSettings {
  Isa isa = Isa::sse42;
  std::vector<int> threads;   ///< each is tuned apart
  std::vector<Shape> shapes;  ///< at least one
  measure::Settings measure;
};

/// One variant beside the one that the backend would choose by itself.
struct VariantTimes {
  std::string variant;
  std::vector<judge::Difference> by_shape;  ///< its time over that of the backend's own choice

  /// Geometric mean of the ratios.
  double mean_ratio() const;
};

/// The outcome for one number of threads.
struct Tuned {
  int threads = 1;
  std::string backend;     ///< that was measured; every backend on these kernels reads the outcome
  std::string own_choice;  ///< what it runs without a tuning file
  std::string reason;      ///< of that
  std::vector<VariantTimes> others;
  std::string chosen;
};

/// The variant with the least mean ratio among those that are faster for at least one shape and
/// slower for none; without one, `own_choice`.
std::string choose(const std::string& own_choice, const std::vector<VariantTimes>& others);

/// Measures a layer of every shape with every variant as a sweep does: checked against the oracle,
/// interleaved, from processes of their own, beside a control. Of each number of threads it takes a
/// backend that can use them and whose kernels have variants.
/// @return one per number of threads; nothing if it was stopped
/// @throws Unavailable if no backend of this program has variants; std::runtime_error if a variant
///         cannot be measured or its result is wrong.
std::vector<Tuned> tune_kernels(const TuneSettings& settings, measure::Observer& observer);

/// The shapes that are measured by default: a prompt of 128 and one of 1024 tokens at width 768,
/// and a wide layer.
std::vector<Shape> default_shapes();

}  // namespace headroom::tune
