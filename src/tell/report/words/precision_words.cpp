// What a less exact, or a differently computed, product is worth, and storing in fewer bits.
#include <fmt/format.h>

#include <vector>

#include "report/words/sentences.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using judge::Verdict;

// "bf16x6: f32 accuracy, 2.10 x faster (2.05 to 2.16)"
Prose words_of(const PrecisionPoint& point) {
  const Numbers& numbers = point.cell->cell.numbers;
  const bool as_f32 = accuracy_class(numbers) == Numbers{};
  Prose prose{code(headroom::to_string(numbers)),
              plain(as_f32 ? ": f32 accuracy, " : fmt::format(": error {:.1e}, ", point.error()))};
  const Versus& versus = *point.over_f32;
  const Verdict verdict = versus.difference.verdict;
  if (verdict == Verdict::faster) {
    append(prose, {strong(times(versus.speed_up()) + " faster"),
                   plain(fmt::format(" ({})", range(versus.speed_up_ci95())))});
  } else if (verdict == Verdict::slower) {
    append(prose, {plain(fmt::format("{} slower", times(versus.difference.ratio)))});
  } else {
    prose.push_back(plain(verdict == Verdict::same ? "as fast" : "not distinguishable in time"));
  }
  return prose;
}

}  // namespace

Prose precision_sentence(const PrecisionFindings& shape) {
  const record::CellResult* f32 = shape.baseline();
  if (f32 == nullptr) return {};
  Prose prose{
      strong("Precision"),
      plain(fmt::format(" with {}, compared with the fastest f32 (", name_with_heads(shape.shape))),
      code(name_of(*f32)), plain(fmt::format(", error {:.1e}): ", f32->error->nrmse))};
  std::vector<std::string> front;
  bool first = true;
  for (const PrecisionPoint& point : shape.points) {
    if (point.on_front) front.push_back(headroom::to_string(point.cell->cell.numbers));
    if (!point.over_f32) continue;
    if (!first) prose.push_back(plain("; "));
    first = false;
    append(prose, words_of(point));
  }
  prose.push_back(plain(". None is both faster and at least as exact as "));
  append(prose, listed(front));
  prose.push_back(plain(" (the Pareto front)."));
  return prose;
}

}  // namespace headroom::report
