// Which backend to link: the fastest, or a lighter one where little is lost. What `pick` and a
// report recommend comes from here.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/verdict.hpp"

namespace headroom::judge {

/// What taking a cell in place of the fastest one loses: at most the margin, within which
/// differences do not matter; more than that; or either, as far as the samples tell.
enum class Loss { little, unknown, large };

/// By the interval alone where the samples are too few for a verdict, and then never `little`.
/// @param to_fastest time / time of the fastest
Loss loss_of(const Difference& to_fastest);

/// What linking a backend costs; the lighter one is smaller.
struct LinkWeight {
  bool unknown = false;  ///< not part of this program
  std::size_t packages = 0;
  std::int64_t library_bytes = 0;
  std::size_t build_packages = 0;

  friend auto operator<=>(const LinkWeight&, const LinkWeight&) = default;
};

/// As far as the backend's facts tell; sizes of libraries are not among them.
LinkWeight weight_by_facts(const std::string& backend);

/// What is known of a backend over the shapes in question.
struct Contender {
  std::size_t missing = 0;   ///< shapes for which it has no time
  double behind = 0;         ///< mean of log(time / time of the fastest), where it has one
  Loss loss = Loss::little;  ///< the largest of all shapes
  LinkWeight weight;
};

struct LinkChoice {
  std::size_t fastest = 0;
  std::size_t chosen = 0;         ///< the lightest of the fastest and those that lose little
  std::vector<std::size_t> open;  ///< lighter than the chosen one, and perhaps as good
};

/// @pre at least one contender
LinkChoice choose_to_link(const std::vector<Contender>& contenders);

}  // namespace headroom::judge
