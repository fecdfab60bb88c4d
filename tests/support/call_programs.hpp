// Random programs of calls: prompts in chunks, steps, ragged batches, truncations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/headroom.hpp"
#include "reference/oracle.hpp"
#include "support/dot_product_calls.hpp"

namespace headroom::test {

/// One step of a program.
struct CallStep {
  enum class Kind { forward, truncate, clear };
  Kind kind = Kind::forward;
  bool cached = true;  ///< otherwise a call that knows nothing of the others
  std::vector<std::int64_t> lengths, memory_lengths;  ///< of each sequence
  std::int64_t sequence = 0, length = 0;              ///< of a truncation
  std::int64_t padded_tokens = 0;                     ///< as in `Call`
  bool padded_before = false;
  std::optional<RandomCall> mask = {};  ///< its kind and directions; sizes are those of the call
};

/// A layer, the room that it has, and what it is asked.
struct CallProgram {
  Case shape;
  std::int64_t sequences = 1;
  std::int64_t capacity = 0;
  int axes = 0;              ///< positions that calls give for each token: none, one or three
  std::int64_t context = 0;  ///< how far each call says that it reaches
  std::vector<CallStep> steps;
  std::uint64_t seed = 0;

  std::string text() const;
};

CallProgram random_program(std::uint64_t seed);

/// What is the same for all layers that run a program, and takes long.
struct CallTruth {
  /// What the oracle says of a step's sequence.
  std::map<std::pair<std::size_t, std::size_t>, reference::Expected> expected;
  std::map<std::size_t, Mask> masks;  ///< of steps
};

/// Runs a program on a layer and compares every row with the oracle, which computes each sequence
/// from scratch; and with one pass over the sequence, if the backend promises its bits.
/// @return what is wrong; empty if nothing is
std::string run_program(const CallProgram& program, const AttentionOptions& options, bool same_bits,
                        CallTruth& truth);

}  // namespace headroom::test
