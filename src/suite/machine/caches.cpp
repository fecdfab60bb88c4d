#include "machine/caches.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::machine {
namespace {

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

UncachedBuffer uncached_buffer(const Processor& processor, std::int64_t max_bytes) {
  constexpr std::int64_t kSmallest = std::int64_t{256} << 20;
  if (processor.last_level_total_bytes <= 0) {
    return {0,
            "the system does not report the size of every core's caches, so no buffer is known to "
            "be larger"};
  }
  const std::int64_t all = processor.all_caches_bytes();
  const std::int64_t least = all + all / 4;
  if (max_bytes < least) {
    return {0, fmt::format(
                   "the caches hold {} in total; emptying them means reading {}, but the largest "
                   "allowed buffer of {} is smaller; allow it more memory",
                   mebibytes(all), mebibytes(least), mebibytes(max_bytes))};
  }
  const std::int64_t wanted = std::max(4 * processor.last_level_total_bytes, least);
  return {std::min(max_bytes, std::max(kSmallest, wanted)), ""};
}

}  // namespace headroom::machine
