// A layer, or attention alone, that all peers are given, and what is expected of them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/case.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/storage.hpp"
#include "json/json_fields.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"

namespace headroom::peers {

/// An output of a peer beside what is expected of it.
struct Judged {
  reference::Comparison comparison;
  /// `|o - r| / |r|` of the output and the result of what is not rounded; empty where neither
  /// weights nor keys and values are stored in fewer bits than they were given.
  std::optional<double> to_unrounded = {};
};

/// The numbers of a cell as a request has them. A program of the user's own says nothing of them
/// and is held to f32.
Numbers asked_numbers(const JsonFields& request);

/// Weights and inputs in the files of a folder, with the outputs of the first input and the last: a
/// peer that mistakes one input for another must not pass.
class PosedProblem {
 public:
  PosedProblem() = default;
  /// Draws the values, writes them and computes what is expected.
  /// @param request sizes, `folder`, `seed`, `inputs`, and what peers store otherwise than it is
  ///        given, each of which is expected for itself: `weights` of a layer, q8 and q4, or
  ///        `caches`, keys and values of attention alone, bf16 and q8
  explicit PosedProblem(const JsonFields& request);

  const Case& shape() const { return shape_; }
  std::uint64_t seed() const { return seed_; }
  std::vector<std::int64_t> checked_inputs() const;
  std::int64_t checked_rows() const;

  /// Compares the output in `file` for `input`. Limits are those of the numbers, except for a peer
  /// whose `products` are of int8 or bf16, or whose `rounding` is its `own`, which have a wide one.
  /// No oracle has what such a rounding stores, so that is compared with what is not rounded.
  Judged judge(const JsonFields& request) const;

 private:
  struct OfInput {
    reference::Expected unrounded;
    std::map<Storage, reference::Expected> stored = {};  // of weights or of caches
  };

  const reference::Expected& expected_of(const OfInput& input, const JsonFields& request) const;

  std::uint64_t seed_ = 1;
  Case shape_;
  std::map<std::int64_t, OfInput> expected_;  // by input
};

}  // namespace headroom::peers
