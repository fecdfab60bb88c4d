#include "plan/timing_plan.hpp"

#include <algorithm>
#include <cmath>

namespace headroom::plan {

int SamplePlan::share(int process) const {
  return repetitions / processes + (process < repetitions % processes ? 1 : 0);
}

std::int64_t TimingPlan::passes(double forward_seconds) const {
  if (cold) return 1;
  return std::max<std::int64_t>(
      1, std::llround(std::ceil(min_time / std::max(forward_seconds, 1e-9))));
}

double TimingPlan::sample_seconds(double forward_seconds) const {
  return beside + emptying + static_cast<double>(passes(forward_seconds)) * forward_seconds;
}

SamplePlan TimingPlan::samples(double forward_seconds, double launch) const {
  SamplePlan plan{processes, repetitions};
  if (forward_seconds > 1) {
    const int fewer = static_cast<int>(kSlowSeconds / forward_seconds);
    plan.repetitions = std::min(plan.repetitions, std::max(kMinRepetitions, fewer));
  }
  const double sample = sample_seconds(forward_seconds);
  const double alone = launch + plan.repetitions * sample;
  const double more = std::min(kLaunchShare * alone / std::max(launch, 1e-9), 1e6);
  plan.processes = std::min(
      {plan.processes, plan.repetitions, std::max(kMinProcesses, 1 + static_cast<int>(more))});
  if (!cell_limit) return plan;
  const auto too_long = [&] {
    return plan.processes * launch + plan.repetitions * sample > *cell_limit;
  };
  while (plan.repetitions > 1 && too_long()) {
    if (plan.repetitions <= kMinRepetitions && plan.processes > kMinProcesses) {
      --plan.processes;
    } else {
      --plan.repetitions;
      plan.processes = std::min(plan.processes, plan.repetitions);
    }
  }
  return plan;
}

}  // namespace headroom::plan
