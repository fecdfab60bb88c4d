// A tuning file: how long each candidate took for some shapes on one machine, which `headroom pick
// --emit json` writes and backend `auto` reads; and the fastest variants of the kernels, which
// `headroom tune` writes and every layer reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/export.h"
#include "headroom/formulation.hpp"

namespace headroom::tuning {

inline constexpr const char* kSchema = "headroom.tuning/1";

/// Where the times were measured.
struct Machine {
  std::string processor;
  std::string architecture;

  bool operator==(const Machine&) const = default;
};

HEADROOM_API Machine this_machine();

/// The isa of a candidate whose backend has only one.
inline constexpr const char* kOnlyIsa = "baseline";

/// One way to compute a shape.
struct Candidate {
  std::string backend;
  Formulation formulation = Formulation::split;
  int threads = 1;
  std::string isa;     ///< level of the kernels, or `kOnlyIsa`
  double seconds = 0;  ///< median per forward pass
  Numbers numbers = {};
  std::string unit = "none";  ///< who multiplied parts; nobody where it is f32
};

struct TunedShape {
  Case shape;
  std::vector<Candidate> candidates;  ///< at least one
};

/// Up to how many rows a unit is not worth its while; see `Choice::few_rows`.
struct TunedBorder {
  Precision precision = Precision::f32;
  std::string unit;
  std::int64_t few_rows = 0;
};

/// The variant of the kernels that was fastest for a level and a number of threads.
struct TunedKernels {
  std::string isa;
  int threads = 1;
  std::string variant;
  std::vector<TunedBorder> borders = {};  ///< empty where no unit was measured
};

struct TuningFile {
  std::string version;  ///< of the headroom that measured
  Machine machine;
  std::vector<TunedShape> shapes;     ///< for `auto`; empty if only kernels were measured
  std::vector<TunedKernels> kernels;  ///< empty if only backends were measured

  /// The entry of that level with the nearest number of threads; null if there is none.
  const TunedKernels* kernels_for(std::string_view isa, int threads) const;
};

/// Unknown fields are ignored.
/// @throws FileError naming `path` and what is wrong in the text.
HEADROOM_API TuningFile parse_tuning(const std::filesystem::path& path, std::string_view text);

/// @throws FileError as `parse_tuning`, or if the file cannot be read.
HEADROOM_API TuningFile read_tuning(const std::filesystem::path& path);

/// Why times of that version and machine do not apply here; empty if they do. Patch versions do not
/// change the speed.
HEADROOM_API std::string stale_reason(const TuningFile& file);

}  // namespace headroom::tuning
