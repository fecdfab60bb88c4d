// Everything that one page claims, compared at once.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "judge/verdict.hpp"
#include "record/result.hpp"

namespace headroom::across {

/// That two cells differ in time. Both are verified.
struct Claim {
  const record::CellResult* base = nullptr;
  const record::CellResult* next = nullptr;
  double noise_floor = 0;  ///< the larger one of both machines
  /// One machine was slower as a whole during one of two runs, which the control beside the samples
  /// shows. Two machines have two controls, which say nothing of each other.
  bool one_machine = false;
  double factor = 1;  ///< of the next one's times, such as the ratio of two prices
};

/// As `judge::Comparisons`, for cells of several machines, each with a noise floor of its own. The
/// correction for multiple tests covers all that was added.
class Claims {
 public:
  using Answer = std::function<void(const judge::Difference&)>;

  void add(const Claim& claim, Answer answer);
  void run() const;
  std::size_t size() const { return claims_.size(); }

 private:
  std::vector<Claim> claims_;
  std::vector<Answer> answers_;
};

}  // namespace headroom::across
