// Lists of samples for tests of statistics and verdicts.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace headroom::test {

inline std::vector<double> times(const std::vector<double>& values, double factor) {
  std::vector<double> scaled;
  scaled.reserve(values.size());
  for (const double value : values) scaled.push_back(value * factor);
  return scaled;
}

/// Nine samples from 0.7 to 1.4.
inline const std::vector<double> kNoisy{1.00, 1.40, 0.70, 1.20, 0.90, 1.30, 1.05, 0.80, 1.10};

/// Fifteen samples around `middle`, as many from each process, which share that process's luck.
/// @param between, within standard deviations, as shares of the middle
inline std::vector<std::vector<double>> launches(double middle, double between, double within,
                                                 std::mt19937_64& generator,
                                                 std::size_t processes = 5) {
  std::normal_distribution<double> unit(0, 1);
  std::vector<std::vector<double>> all(processes);
  for (std::vector<double>& own : all) {
    const double luck = middle * (1 + between * unit(generator));
    for (std::size_t i = 0; i < 15 / processes; ++i) {
      own.push_back(luck * (1 + within * unit(generator)));
    }
  }
  return all;
}

}  // namespace headroom::test
