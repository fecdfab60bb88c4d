// Checks every backend, formulation and instruction set against the oracle. Nothing is timed.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "measure/settings.hpp"
#include "measure/verify/verify_check.hpp"
#include "plan/axes.hpp"
#include "plan/cell.hpp"
#include "plan/expand.hpp"
#include "reference/comparator.hpp"

namespace headroom::measure {

/// A shape, all that compute it, and the data that they are checked with.
struct VerifyCase {
  plan::Group group;
  reference::Data data = reference::Data::standard;
};

struct VerifyCounts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
};

/// Without sizes, or with the quick preset: small shapes that differ in everything a kernel may get
/// wrong, some with adversarial data. Otherwise the shapes of the axes. Each once for every way to
/// store, with the rivals that store so: of a backend with levels one per available level, unless a
/// level is forced or it fixes its level once per process.
std::vector<VerifyCase> verify_cases(const plan::Axes& axes, const plan::ExpandOptions& options);

/// Makes all checks and passes each to `done`. They run in processes of their own: a backend that
/// dies is `failed` with the reason, and the others continue. With a crew they run in this one.
/// @param settings of which seed, memory and crew matter: nothing is timed
VerifyCounts verify(const std::vector<VerifyCase>& cases, const Settings& settings,
                    const std::function<void(const VerifyCheck&)>& done,
                    const std::function<bool()>& stopped);

}  // namespace headroom::measure
