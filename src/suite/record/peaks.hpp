// The roofs of a run: what the hardware did at most, and at which clock.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/element/layer_numbers.hpp"
#include "headroom/unit.hpp"

namespace headroom::record {

/// The power of two nearest to a number of bytes, at least 64 KiB: reading less is all starting and
/// waiting. Working sets of one size have one roof.
std::int64_t size_class(std::int64_t bytes);

/// What it takes to send something from one rank to another.
struct Link {
  double latency_s = 0;    ///< of the shortest message
  double bytes_per_s = 0;  ///< of long ones
};

/// Measured limits of the hardware, by number of threads. A missing entry means not measured; so
/// does a rate of 0.
struct Peaks {
  Target target = {};                      ///< the unit is that of `product_gflops`
  std::map<int, double> fma_gflops = {};   ///< the best of some tenths of a second
  std::map<int, double> tile_gflops = {};  ///< of a register tile with its operands in the L1
  std::map<int, double> read_gbs = {};
  std::map<int, double> sustained_gflops = {};     ///< multiply-adds without a pause
  std::map<int, double> clock_ghz = {};            ///< right after the best
  std::map<int, double> sustained_clock_ghz = {};  ///< right after those without a pause

  /// Rates of products of less than f32 from the L1, by what they compute with, what is stored, and
  /// threads. Where only that of `bf16` was measured, products of parts take their share of it; see
  /// `product_roof`.
  std::map<Numbers, std::map<int, double>> product_gflops = {};

  /// What arithmetic allows at most with these numbers: the rate of multiply-adds for f32; empty
  /// where nothing was measured for them.
  std::optional<double> product_roof(const Numbers& numbers, int threads) const;

  /// Read bandwidth where this many bytes are read again and again, by threads and `size_class`:
  /// what fits a cache is read faster than memory.
  std::map<int, std::map<std::int64_t, double>> read_gbs_of_set = {};

  /// Read bandwidth for a working set that is in no cache before, if `cold`; empty if it was not
  /// measured.
  std::optional<double> read_roof(int threads, std::int64_t bytes, bool cold) const;

  /// Between two ranks, where there are several.
  std::optional<Link> link = {};

  /// What packages and their memory use while nothing of ours runs, in watts; empty where no
  /// energy is counted. A roof from below.
  std::optional<double> idle_watts = {};

  /// Empty where the machine goes on at the rate of its roof, or nobody tried. Else the roof is one
  /// of bursts, and this says what was seen.
  std::string why_not_held(int threads) const;
};

/// Every precision with all that can be stored.
std::vector<Numbers> all_numbers();

/// Inverse of `to_string`; empty for an unknown name.
std::optional<Numbers> numbers_named(std::string_view name);

nlohmann::ordered_json to_json(const Peaks& peaks);

/// Those of an `environment.json`, which may come from anywhere: what is no rate is left out. Old
/// ones know of no clock.
Peaks peaks_of(const nlohmann::ordered_json& environment);

}  // namespace headroom::record
