// Checks every backend, formulation and instruction set against the oracle. Nothing is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/crew/crew.hpp"
#include "measure/verify/verify_check.hpp"
#include "plan/axes.hpp"
#include "plan/cell.hpp"
#include "plan/expand.hpp"
#include "reference/comparator.hpp"

namespace headroom::measure {

/// A shape and the data it is checked with.
struct VerifyCase {
  Shape shape;
  reference::Data data = reference::Data::standard;
  std::shared_ptr<const plan::UserWeights> weights = nullptr;  ///< null: drawn ones
  Dtype dtype = Dtype::f32;
};

struct VerifyCounts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
};

/// Without sizes, or with the quick preset: small shapes that differ in everything a kernel may get
/// wrong, some with adversarial data. Otherwise the shapes of the axes. Each once for every dtype.
std::vector<VerifyCase> verify_cases(const plan::Axes& axes, const plan::ExpandOptions& options);

/// The rivals that each case of their dtype is checked with. A backend with levels has one rival
/// per available level, unless a level is forced. A backend that fixes its level once per process
/// has one.
std::vector<plan::Cell> verify_rivals(const plan::Axes& axes);

/// Makes all checks and passes each to `done`. They run in processes of their own: a backend that
/// dies is `failed` with the reason, and the others continue. With a crew they run in this one.
VerifyCounts verify(const std::vector<VerifyCase>& cases, const std::vector<plan::Cell>& rivals,
                    std::uint64_t seed, std::int64_t memory_limit, Crew* crew,
                    const std::function<void(const VerifyCheck&)>& done,
                    const std::function<bool()>& stopped);

}  // namespace headroom::measure
