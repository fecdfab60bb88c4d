// Which variant of a backend's kernels is fastest on this machine: measured, interleaved, and
// judged like every comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/isa.hpp"
#include "headroom/precision.hpp"
#include "headroom/shape.hpp"
#include "headroom/unit.hpp"
#include "judge/verdict.hpp"
#include "measure/observer.hpp"
#include "measure/settings.hpp"

namespace headroom::tune {

struct TuneSettings {
  Isa isa = Isa::sse42;
  std::vector<int> threads;   ///< each is tuned apart
  std::vector<Shape> shapes;  ///< at least one
  /// Tokens of the layers that find the borders of few rows, ascending; none: borders stay.
  std::vector<std::int64_t> rows;
  measure::Settings measure;
};

/// One variant beside the one that the backend would choose by itself.
struct VariantTimes {
  std::string variant;
  std::vector<judge::Difference> by_shape;  ///< its time over that of the backend's own choice

  /// Geometric mean of the ratios.
  double mean_ratio() const;
};

/// A layer of so many rows: its time by a unit over that by vectors.
struct RowTimes {
  std::int64_t rows = 0;
  judge::Difference by_unit;
};

/// Up to how many rows a unit is not worth its while; see `Choice::few_rows`.
struct Border {
  Precision precision = Precision::f32;
  Unit unit = Unit::none;
  std::int64_t own_choice = 0;
  std::int64_t chosen = 0;
  std::vector<RowTimes> rows;
};

/// The outcome for one number of threads.
struct Tuned {
  int threads = 1;
  std::string backend;     ///< that was measured; every backend on these kernels reads the outcome
  std::string own_choice;  ///< what it runs without a tuning file
  std::string reason;      ///< of that
  std::vector<VariantTimes> others;
  std::string chosen;
  std::vector<Border> borders = {};
};

/// The variant with the least mean ratio among those that are faster for at least one shape and
/// slower for none; without one, `own_choice`.
std::string choose(const std::string& own_choice, const std::vector<VariantTimes>& others);

/// Measures a layer of every shape with every variant, and then the borders of few rows with the
/// chosen one. Of each number of threads it takes a backend that can use them and whose kernels
/// have variants.
/// @return one per number of threads; nothing if it was stopped
/// @throws Unavailable if no backend of this program has variants; as `compare_with_first`
std::vector<Tuned> tune_kernels(const TuneSettings& settings, measure::Observer& observer);

/// The shapes that are measured by default: a prompt of 128 and one of 1024 tokens at width 768,
/// and a wide layer.
std::vector<Shape> default_shapes();

/// From less than a tile of rows to more than two, among which every known border lies.
std::vector<std::int64_t> default_rows();

}  // namespace headroom::tune
