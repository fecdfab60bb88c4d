#include "pick/storages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/names.hpp"
#include "judge/ranking.hpp"
#include "program/numbers.hpp"

namespace headroom::pick {
namespace {

using judge::Verdict;

// The fastest candidate of each storage.
std::vector<StorageBest> best_of(const std::vector<Numbers>& stored, const ShapePick& shape) {
  std::vector<StorageBest> found;
  for (const Numbers& numbers : stored) {
    for (std::size_t i = 0; i < shape.candidates.size(); ++i) {
      if (shape.candidates[i].result->cell.numbers.as_stored() != numbers) continue;
      found.push_back({i, {}});
      break;
    }
  }
  return found;
}

constexpr Name<Verdict> kWords[] = {{Verdict::faster, "faster"},
                                    {Verdict::slower, "slower: nothing is gained"},
                                    {Verdict::same, "no faster"},
                                    {Verdict::not_distinguishable, "not distinguishable"}};

}  // namespace

void compare_storages(const std::vector<Numbers>& stored, double noise_floor,
                      std::vector<ShapePick>& shapes) {
  if (stored.size() < 2) return;
  judge::Comparisons comparisons(noise_floor);
  for (ShapePick& shape : shapes) {
    shape.storages = best_of(stored, shape);
    const record::CellResult* first = shape.candidates[shape.storages.front().candidate].result;
    if (first->cell.numbers.as_stored() != stored.front()) {
      shape.storages.clear();  // there is nothing to compare with
      continue;
    }
    for (StorageBest& best : shape.storages) {
      comparisons.add(
          first, *shape.candidates[best.candidate].result,
          [&best](const judge::CellDifference& found) { best.to_first = found.difference; });
    }
  }
  comparisons.run();
}

std::string storage_table(const ShapePick& shape) {
  if (shape.storages.empty()) return "";
  const auto result_of = [&](const StorageBest& best) -> const record::CellResult& {
    return *shape.candidates[best.candidate].result;
  };
  const std::string first = stored_words(result_of(shape.storages.front()).cell.numbers);
  std::string text = fmt::format("  {:<44} {:<30} {:>9}  {:<21} {:>7}\n", "stored", "fastest",
                                 "time", "times that of " + first, "error");
  for (std::size_t i = 0; i < shape.storages.size(); ++i) {
    const StorageBest& best = shape.storages[i];
    const record::CellResult& result = result_of(best);
    const judge::Difference& found = best.to_first;
    text += fmt::format(
        "  {:<44} {:<30} {:>9}  {:<21} {:>7.1e}{}\n", stored_words(result.cell.numbers),
        fmt::format("{}/{} {}, {}", to_string(result.cell.formulation), result.cell.backend,
                    to_string(result.cell.numbers.precision), result.threads),
        format_seconds(result.time.median),
        i == 0
            ? "1"
            : fmt::format("{:.2f} ({:.2f} - {:.2f})", found.ratio, found.ci95.low, found.ci95.high),
        result.whole_error(), i == 0 ? "" : fmt::format("  {}", name_of(kWords, found.verdict)));
  }
  for (const auto& [stored, error] : shape.too_far) {
    text += fmt::format("  {:<44} storing alone costs {:.1e}, more than --max-error\n",
                        stored_words(stored), error);
  }
  return text;
}

}  // namespace headroom::pick
