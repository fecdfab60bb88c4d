// Which variant of a backend's kernels is fastest on this machine: measured, interleaved, and
// judged like every comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "measure/observer.hpp"
#include "tune/tuned.hpp"

namespace headroom::tune {

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
std::vector<Case> default_shapes();

/// From less than a tile of rows to more than two, among which every known border lies.
std::vector<std::int64_t> default_rows();

}  // namespace headroom::tune
