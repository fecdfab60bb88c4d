#include "core/layer/rotary_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "core/layer/size_checks.hpp"
#include "core/text/fingerprint.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

void check_divisors(std::string_view name, std::string_view each,
                    const std::vector<double>& divisors, std::int64_t pairs) {
  const auto count = static_cast<std::int64_t>(divisors.size());
  if (count != 0 && count != pairs) {
    throw InvalidArgument(fmt::format(
        "shape: rotary has {} {}; allowed are none, or {}, one for each pair", count, name, pairs));
  }
  for (const double divisor : divisors) check_positive(each, divisor);
}

void check_sections(const Rotary& rotary, std::int64_t pairs) {
  if (!rotary.has_sections()) return;
  const auto [times, heights, widths] = rotary.sections;
  const bool fit = times >= 0 && times <= pairs && heights >= 0 && heights <= pairs &&
                   widths == pairs - times - heights && widths >= 0;
  if (fit) return;
  throw InvalidArgument(fmt::format(
      "shape: rotary sections are {}, {} and {}; allowed are three numbers from 0 on that add up "
      "to the {} pairs of a head, or 0 for all",
      times, heights, widths, pairs));
}

void check_context(const Rotary& rotary, std::int64_t width) {
  check_size("rotary context", rotary.context, 0);
  check_positive_or_none("rotary growth", rotary.growth);
  check_divisors("long_divisors", "a long rotary divisor", rotary.long_divisors, width / 2);
  const bool grows = rotary.growth > 0;
  const bool changes = grows || !rotary.long_divisors.empty();
  if (changes != (rotary.context > 0) || (grows && !rotary.long_divisors.empty())) {
    throw InvalidArgument(fmt::format(
        "shape: rotary context is {}, growth {}, and there are {} long_divisors; allowed are none "
        "of the three, or a context with one of the others",
        rotary.context, rotary.growth, rotary.long_divisors.size()));
  }
  // Its power is of the width without one pair.
  if (!grows || (width > 2 && rotary.growth >= 1)) return;
  throw InvalidArgument(fmt::format(
      "shape: rotary growth is {} of {} values that turn; allowed are 1 and above, of 4 or more",
      rotary.growth, width));
}

}  // namespace

std::int64_t turned_width(const LayerConfig& config) {
  if (config.rotary.width > 0) return config.rotary.width;
  return config.is_latent() ? config.latent.shared : config.head_dim();
}

void check_rotary(const LayerConfig& config) {
  const Rotary& rotary = config.rotary;
  if (rotary.pairs == Rotary::Pairs::none) return;
  check_size("rotary width", rotary.width, 0);
  const std::int64_t width = turned_width(config);
  if (rotary.width == 0 && width % 2 != 0) {
    throw InvalidArgument(
        fmt::format("shape: rotary positions turn pairs of values, and {} is {}; allowed are even "
                    "widths",
                    config.is_latent() ? "latent shared" : "head_dim", width));
  }
  if (width < 2 || width % 2 != 0 || width > config.head_dim()) {
    throw InvalidArgument(
        fmt::format("shape: rotary width is {} of a head of {}; allowed are even widths up to that",
                    width, config.head_dim()));
  }
  check_positive("rotary base", rotary.base);
  check_positive("rotary scale", rotary.scale);
  check_positive("rotary amplitude", rotary.amplitude);
  check_divisors("divisors", "a rotary divisor", rotary.divisors, width / 2);
  check_sections(rotary, width / 2);
  check_context(rotary, width);
  if (config.d_memory > 0) {
    throw InvalidArgument(
        "shape: rotary positions and d_memory exclude each other: the tokens of a second input "
        "have no position beside those of x; leave one out");
  }
}

std::string rotary_id(const Rotary& rotary) {
  std::string id = rotary.pairs == Rotary::Pairs::halves ? "_rope" : "_ropen";
  if (rotary.base != Rotary{}.base) id += fmt::format("{}", rotary.base);
  if (rotary.scale != Rotary{}.scale) id += fmt::format("x{}", rotary.scale);
  if (rotary.width > 0) id += fmt::format("w{}", rotary.width);
  if (rotary.has_sections()) {
    id += fmt::format("m{}{}", fmt::join(rotary.sections, "-"), rotary.interleaved ? "i" : "");
  }
  if (rotary.context > 0) id += fmt::format("c{}", rotary.context);
  if (rotary.growth > 0) id += fmt::format("g{}", rotary.growth);
  const bool divided = !rotary.divisors.empty() || !rotary.long_divisors.empty();
  if (!divided && rotary.amplitude == Rotary{}.amplitude) return id;
  // Too many numbers for a name, and whose numbers differ must not have one name.
  Fingerprint print;
  print.add(fmt::format("{} {}", fmt::join(rotary.divisors, " "), rotary.amplitude));
  if (!rotary.long_divisors.empty()) {
    print.add(fmt::format(" {}", fmt::join(rotary.long_divisors, " ")));
  }
  return id + "s" + print.text().substr(0, 6);
}

}  // namespace headroom
