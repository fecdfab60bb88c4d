#include "measure/cache_emptier.hpp"

#include <limits>

#include "machine/cores.hpp"
#include "machine/processor.hpp"

namespace headroom::measure {
namespace {

std::int64_t bytes_to_read(std::int64_t most) {
  return machine::uncached_bytes(machine::describe_processor().last_level_bytes(), most);
}

}  // namespace

void CacheEmptier::prepare(machine::ReadKernel kernel, std::int64_t limit) {
  meter_ = std::make_unique<machine::ReadMeter>(allowed_cores(), bytes_to_read(limit / 4), kernel);
}

std::int64_t CacheEmptier::bytes() const {
  return meter_ ? static_cast<std::int64_t>(meter_->bytes()) : 0;
}

double seconds_to_empty_caches() {
  constexpr double kReadBytesPerSecond = 1e10;  // of a whole machine, at the least
  return static_cast<double>(bytes_to_read(std::numeric_limits<std::int64_t>::max())) /
         kReadBytesPerSecond;
}

}  // namespace headroom::measure
