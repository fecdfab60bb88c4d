#include "plan/timing_plan.hpp"

#include <algorithm>

namespace headroom::plan {

int SamplePlan::share(int process) const {
  return repetitions / processes + (process < repetitions % processes ? 1 : 0);
}

double TimingPlan::sample_seconds(double forward_seconds) const {
  return beside + emptying + (cold ? forward_seconds : std::max(min_time, forward_seconds));
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
