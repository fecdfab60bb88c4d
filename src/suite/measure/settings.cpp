#include "measure/settings.hpp"

#include "machine/memory.hpp"

namespace headroom::measure {

plan::Limits Settings::limits() const {
  plan::Limits limits;
  limits.memory_bytes = memory_limit;
  limits.more_memory = "raise --max-memory if there is more memory";
  limits.cell_seconds = timing.cell_limit;
  return limits;
}

std::string Settings::reason_to_skip(const Case& shape, const plan::Cell& cell,
                                     const plan::CellEstimate& estimate) const {
  plan::Limits now = limits();
  if (seconds_left) now.budget_seconds = seconds_left();
  return plan::reason_to_skip(shape, cell, estimate, now);
}

Settings settings_for(const Target& target, machine::LimitKernelsOf limits_of) {
  Settings settings;
  settings.peaks.target = target;
  settings.memory_limit = machine::usable_memory();
  // If others take a core for a while, all that use it look slow. The control shows that.
  if (limits_of != nullptr) {
    settings.kernels = limits_of(target);
    settings.timing.beside = plan::kControlSeconds;
  }
  return settings;
}

}  // namespace headroom::measure
