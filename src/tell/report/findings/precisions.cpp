// Error against time: which precisions and storages of a shape are worth having.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "judge/competes.hpp"
#include "judge/ranking.hpp"
#include "report/findings/findings.hpp"

namespace headroom::report {
namespace {

using record::CellResult;

const Numbers& numbers_of(const PrecisionPoint& point) { return point.cell->cell.numbers; }

// f32 itself, and what cannot be distinguished from it, take as long as f32.
double relative_time(const PrecisionPoint& point) {
  if (!point.over_f32) return 1;
  const judge::Verdict verdict = point.over_f32->difference.verdict;
  const bool differs = verdict == judge::Verdict::faster || verdict == judge::Verdict::slower;
  return differs ? point.over_f32->difference.ratio : 1;
}

// Errors within the limits of f32 are not told apart: bf16x6 is as good as f32.
double inexactness(const PrecisionPoint& point) {
  return accuracy_class(numbers_of(point)) == Numbers{} ? 0 : point.error();
}

// What two precisions add to one error of storing is no difference.
bool as_exact(const PrecisionPoint& a, const PrecisionPoint& b) {
  constexpr double kSame = 1.1;
  return inexactness(a) <= kSame * inexactness(b);
}

// f32 first where times cannot be told apart, as no other precision is worth its while then.
bool beats(const PrecisionPoint& a, const PrecisionPoint& b) {
  return as_exact(a, b) &&
         std::tuple(relative_time(a), numbers_of(a)) < std::tuple(relative_time(b), numbers_of(b));
}

}  // namespace

double PrecisionPoint::error() const { return cell->whole_error(); }

const CellResult* PrecisionFindings::baseline() const {
  const CellResult* best = nullptr;
  for (const PrecisionPoint& point : points) {
    if (numbers_of(point).precision != Precision::f32) continue;
    if (best == nullptr || numbers_of(point) < best->cell.numbers) best = point.cell;
  }
  return best;
}

std::vector<PrecisionFindings> find_precisions(const record::ResultsFolder& folder) {
  std::vector<PrecisionFindings> shapes;
  std::map<std::string, std::size_t> places;
  for (const CellResult* result : record::in_order(folder)) {
    if (!judge::competes(*result)) continue;
    const auto [place, fresh] = places.try_emplace(result->shape.id(), shapes.size());
    if (fresh) shapes.push_back({result->shape, {}});
    std::vector<PrecisionPoint>& points = shapes[place->second].points;
    const auto known = std::find_if(points.begin(), points.end(), [&](const PrecisionPoint& point) {
      return numbers_of(point) == result->cell.numbers;
    });
    if (known == points.end()) {
      points.push_back({result, {}, false});
    } else if (result->time.median < known->cell->time.median) {
      known->cell = result;
    }
  }
  std::erase_if(shapes, [](const PrecisionFindings& shape) { return shape.points.size() < 2; });
  for (PrecisionFindings& shape : shapes) {
    std::stable_sort(shape.points.begin(), shape.points.end(),
                     [](const PrecisionPoint& a, const PrecisionPoint& b) {
                       return std::tuple(inexactness(a), numbers_of(a)) <
                              std::tuple(inexactness(b), numbers_of(b));
                     });
  }
  return shapes;
}

void compare_precisions(std::vector<PrecisionFindings>& shapes, judge::Comparisons& comparisons,
                        std::size_t& by_control) {
  for (PrecisionFindings& shape : shapes) {
    const CellResult* baseline = shape.baseline();
    for (PrecisionPoint& point : shape.points) {
      comparisons.add(baseline, *point.cell,
                      [baseline, &point, &by_control](const judge::CellDifference& found) {
                        point.over_f32 = Versus{baseline, found.difference};
                        by_control += found.by_control ? 1 : 0;
                      });
    }
  }
}

void mark_front(std::vector<PrecisionFindings>& shapes) {
  for (PrecisionFindings& shape : shapes) {
    // Without f32 there is nothing that all were compared with.
    if (shape.baseline() == nullptr) continue;
    for (PrecisionPoint& point : shape.points) {
      point.on_front = std::none_of(
          shape.points.begin(), shape.points.end(),
          [&](const PrecisionPoint& other) { return &other != &point && beats(other, point); });
    }
  }
}

}  // namespace headroom::report
