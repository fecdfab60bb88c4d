// What is tuned, and what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "headroom/isa.hpp"
#include "headroom/precision.hpp"
#include "headroom/unit.hpp"
#include "judge/verdict.hpp"
#include "measure/settings.hpp"

namespace headroom::tune {

struct TuneSettings {
  Isa isa = Isa::sse42;
  std::vector<int> threads;  ///< each is tuned apart
  std::vector<Case> shapes;  ///< at least one
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

}  // namespace headroom::tune
