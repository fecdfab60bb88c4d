#include "across/overview.hpp"

#include <algorithm>

#include "judge/competes.hpp"

namespace headroom::across {

std::size_t Overview::verified_cells(std::size_t entry) const {
  const auto& results = collection->entries[entry].folder.results;
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(), judge::verified));
}

Overview look_over(const Collection& collection) {
  Overview overview;
  overview.collection = &collection;
  overview.cells = join(collection);
  overview.differences = environment_differences(collection);
  overview.head_panels = find_head_panels(collection);
  overview.contests = find_contests(collection);
  overview.matrices = find_matrices(overview.contests, collection);
  overview.changes = find_changes(overview.contests, collection, overview.changes_left_out);
  overview.threads = find_threads(overview.contests, collection);
  overview.precisions = find_precisions(collection);
  overview.cold = find_cold(overview.contests, collection);
  overview.value = find_value(overview.contests, collection);
  judge::Comparisons comparisons;
  compare_head_panels(overview.head_panels, collection, comparisons);
  compare_standings(overview.contests, collection, comparisons);
  compare_matrices(overview.matrices, collection, comparisons);
  compare_changes(overview.changes, collection, comparisons);
  compare_threads(overview.threads, collection, comparisons);
  compare_precisions(overview.precisions, collection, comparisons);
  compare_cold(overview.cold, collection, comparisons);
  compare_value(overview.value, collection, comparisons);
  comparisons.run();
  overview.comparisons = comparisons.size();
  judge_standings(overview.contests);
  overview.lone = find_lone_backends(overview.contests);
  return overview;
}

}  // namespace headroom::across
