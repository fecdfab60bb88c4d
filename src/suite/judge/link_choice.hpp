// Which backend to link: the fastest, or a lighter one where little is lost, and how sure that is.
// What `pick` and a report recommend comes from here.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/formulation.hpp"
#include "judge/verdict.hpp"
#include "record/result.hpp"

namespace headroom::judge {

/// What taking a cell in place of the fastest one loses: at most the margin, within which
/// differences do not matter; more than that; or either, as far as the samples tell.
enum class Loss { little, unknown, large };

/// By the interval alone where the samples are too few for a verdict, and then never `little`.
/// @param to_fastest time / time of the fastest
Loss loss_of(const Difference& to_fastest);

/// Whether nothing speaks against taking a cell in place of the fastest one. An interval beyond the
/// margin does, even of samples that are too few for a verdict.
bool may_be_as_fast(const Difference& to_fastest);

/// How sure it is that nothing measured is better; the surest first.
enum class Sureness {
  clear,    ///< every other backend is slower by more than the noise
  tie,      ///< all that may be as fast are so within the margin: little can be lost
  unknown,  ///< another may be faster by more than that: there is no answer yet
  alone,    ///< no other backend has a time
};

/// As people and files have it: `"clear"`, `"tie"`, `"unclear"`, `"only one"`.
std::string_view to_string(Sureness sureness);

/// How a backend did for a shape.
struct Showing {
  bool leads = false;        ///< a cell of it is the fastest, or not shown to be slower
  Loss loss = Loss::little;  ///< of its fastest cell
};

/// For a shape. For several, the surest counts: only where none is clear or tied is there no
/// answer.
/// @param backends that have a time, at least one
Sureness sureness_of(const std::vector<Showing>& backends);

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

/// What is known of a way to compute over the shapes in question: a backend's best, or any cell.
struct Contender {
  std::size_t missing = 0;   ///< shapes for which it has no time
  double behind = 0;         ///< mean of log(time / time of the fastest), where it has one
  Loss loss = Loss::little;  ///< the largest of all shapes
  LinkWeight weight;
  Formulation formulation = Formulation::split;
  bool level = true;  ///< `may_be_as_fast` in every shape
};

/// A cell alone, for the one shape that it is of.
Contender contender_of(const record::CellResult& cell, const record::CellResult& fastest,
                       const Difference& to_fastest, const LinkWeight& weight);

/// Which one to take where there is no answer yet. Of those that are level the lighter one, then
/// `split` before `fused` before `wrapper`, then the smaller median; they come before the others.
bool preferred(const Contender& a, const Contender& b);

struct LinkChoice {
  std::size_t fastest = 0;
  std::size_t chosen = 0;         ///< the lightest of the fastest and those that lose little, or,
                                  ///< where there is no answer yet, the one that is preferred
  std::vector<std::size_t> open;  ///< lighter than the former, and perhaps as good
};

/// @pre at least one contender
LinkChoice choose_to_link(const std::vector<Contender>& contenders,
                          Sureness sureness = Sureness::clear);

}  // namespace headroom::judge
