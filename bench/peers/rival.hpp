// The side of a peer in C++: prepares layers, runs and times them on request, as peer.py does for
// libraries in Python. docs/peers.md describes the requests.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "headroom/formulation.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom::peers {

/// A layer to prepare, or attention over heads that are given. The weights are read when they are
/// asked for.
struct Problem {
  std::filesystem::path folder;
  Case shape;
  int threads = 1;

  SplitWeights weights() const;
  /// `key` or `value` where heads are given: `batch * context()` rows of `kv_width()`.
  Matrix heads(const std::string& name) const;
};

/// A variant that is ready.
struct Layer {
  std::function<void(ConstMatrixView x, MatrixView y)> pass;
  nlohmann::ordered_json told;  ///< what is recorded of it: `setup_s`, `note`, `isa`, ...
  /// Writes the result of the last pass, if `pass` leaves it elsewhere in another type.
  std::function<void(MatrixView y)> read = {};
};

/// One way in which a rival may be called. `make` prepares it, which may take long; what it throws
/// is the reason why there is no such variant.
struct Variant {
  std::string name;
  Formulation formulation = Formulation::split;  ///< of a layer
  std::function<Layer()> make;
};

struct Rival {
  std::function<nlohmann::ordered_json()> about;  ///< `version` and `settings`
  std::function<std::vector<Variant>(const Problem& problem)> variants;
};

/// Answers until standard input ends.
void serve_rival(const Rival& rival);

}  // namespace headroom::peers
