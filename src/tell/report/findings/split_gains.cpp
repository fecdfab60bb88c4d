#include "report/findings/split_gains.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "judge/competes.hpp"

namespace headroom::report {
namespace {

// Equal for the shapes of a series.
Case without_heads(Case shape, bool of_width) {
  if (shape.key_heads() == shape.heads) shape.kv_heads = 0;
  if (!of_width) {
    constexpr std::int64_t kAsHeads = -1;  // a width that grows with them
    if (shape.d_in == shape.d_out) shape.d_in = kAsHeads;
    if (shape.d_proj == shape.context_width()) shape.d_proj = kAsHeads;
    shape.d_out = shape.head_dim();
  }
  shape.heads = 1;
  return shape;
}

std::size_t cells_of(const SplitGains& series) {
  std::size_t cells = 0;
  for (const SplitGains::AtHeads& at : series.by_heads) cells += at.cells.size();
  return cells;
}

std::vector<SplitGains> series_of(const std::vector<SplitGains::AtHeads>& shapes, bool of_width) {
  std::vector<std::pair<Case, SplitGains>> found;
  for (const SplitGains::AtHeads& at : shapes) {
    const Case key = without_heads(at.shape->shape, of_width);
    auto place = std::find_if(found.begin(), found.end(),
                              [&](const auto& series) { return series.first == key; });
    if (place == found.end()) place = found.insert(found.end(), {key, {of_width, {}}});
    place->second.by_heads.push_back(at);
  }
  std::vector<SplitGains> all;
  for (auto& [key, series] : found) {
    std::stable_sort(series.by_heads.begin(), series.by_heads.end(),
                     [](const auto& a, const auto& b) { return a.heads() < b.heads(); });
    if (series.by_heads.front().heads() == series.by_heads.back().heads()) continue;
    all.push_back(std::move(series));
  }
  std::stable_sort(all.begin(), all.end(), [](const SplitGains& a, const SplitGains& b) {
    return std::tuple(a.by_heads.size(), cells_of(a)) > std::tuple(b.by_heads.size(), cells_of(b));
  });
  return all;
}

}  // namespace

std::vector<const Contest*> split_cells(const ShapeFindings& shape) {
  std::vector<const Contest*> kept;
  for (const Contest& contest : shape.contests) {
    const plan::Cell& cell = contest.cell->cell;
    if (cell.formulation != Formulation::split || !contest.over_wrapper) continue;
    if (!judge::competes(*contest.cell)) continue;
    const auto known = std::find_if(kept.begin(), kept.end(), [&](const Contest* other) {
      return other->cell->cell.backend == cell.backend;
    });
    if (known == kept.end()) {
      kept.push_back(&contest);
      continue;
    }
    const record::CellResult& other = *(*known)->cell;
    if (std::tuple(-contest.cell->threads, cell.numbers) <
        std::tuple(-other.threads, other.cell.numbers)) {
      *known = &contest;
    }
  }
  return kept;
}

std::vector<SplitGains> split_gains(const Findings& findings) {
  std::vector<SplitGains::AtHeads> shapes;
  const Numbers most_exact = most_exact_of(findings);
  for (const ShapeFindings& shape : findings.shapes) {
    if (shape.numbers != most_exact) continue;
    std::vector<const Contest*> cells = split_cells(shape);
    if (!cells.empty()) shapes.push_back({&shape, std::move(cells)});
  }
  std::vector<SplitGains> all = series_of(shapes, true);
  const std::size_t most = all.empty() ? 0 : all.front().by_heads.size();
  std::vector<SplitGains> of_heads = series_of(shapes, false);
  std::erase_if(of_heads, [&](const SplitGains& series) { return series.by_heads.size() <= most; });
  all.insert(all.begin(), of_heads.begin(), of_heads.end());
  return all;
}

}  // namespace headroom::report
