// Which machine and which version of the program results are from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headroom::store {

/// Names that are fit for a folder: letters of ASCII, digits, `.`, `_`, `+` and `-`, no dot in
/// front.
struct Origin {
  /// Such as `"amd-epyc-zen4-2-cores-3f9a10"` or `"intel-xeon-amx-2-cores-0b1c2d"`. The same for
  /// every run on a machine of this processor with as many cores allowed, whatever the version; the
  /// last part tells processors of one name apart.
  std::string machine;
  std::string version;  ///< such as `"0.1.0-aeb00f0f1c2d"`
  std::string
      processor;  ///< as people read it, such as `"AMD EPYC (Zen 4 class), 2 cores, avx512"`
  std::string committed;  ///< when the version's commit was made, in UTC; empty where unknown
  std::string measured;   ///< when the run began, in UTC; empty where unknown

  /// Versions of one program in the order of their commits; those that do not know theirs, by when
  /// they were measured.
  const std::string& age() const { return committed.empty() ? measured : committed; }
};

/// Of an `environment.json`, which may come from anywhere: what it does not say is `unknown`.
Origin origin_of(const nlohmann::ordered_json& environment);

}  // namespace headroom::store
