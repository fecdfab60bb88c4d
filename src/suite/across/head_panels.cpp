#include "across/head_panels.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "judge/competes.hpp"
#include "judge/ranking.hpp"

namespace headroom::across {
namespace {

using record::CellResult;

// 16 and 24 heads say little of one matrix against many.
constexpr std::int64_t kSpan = 4;

// Whether its formulations are compared here.
bool has_field(const CellResult& cell) {
  return judge::competes(cell) && cell.cell.numbers == Numbers{} &&
         cell.cache != plan::CacheState::cold;
}

// What the shapes of a series have in common: their name, as if they had one head.
std::string of_one_width(Case shape) {
  shape.heads = 1;
  return shape.id();
}

std::string of_one_head_width(Case shape) {
  shape.d_in = shape.d_out = shape.d_proj = shape.head_dim();
  shape.heads = 1;
  return shape.id();
}

// Whether their shapes have one width, and what they have in common.
using SeriesKey = std::pair<bool, std::string>;
using AllSeries = std::map<SeriesKey, HeadPanel>;

// Keeps the fewest threads of each backend, and says which backends and heads are left.
void complete(HeadPanel& panel) {
  std::map<std::string, int> fewest;
  for (const SplitField& field : panel.fields) {
    const auto [threads, fresh] =
        fewest.try_emplace(field.split->cell.backend, field.split->threads);
    if (fresh) panel.backends.push_back(threads->first);
    threads->second = std::min(threads->second, field.split->threads);
  }
  std::erase_if(panel.fields, [&](const SplitField& field) {
    return field.split->threads != fewest[field.split->cell.backend];
  });
  std::set<std::int64_t> heads;
  for (const SplitField& field : panel.fields) heads.insert(field.split->shape.heads);
  panel.heads.assign(heads.begin(), heads.end());
}

AllSeries series_of(const record::ResultsFolder& folder) {
  std::map<std::string, std::vector<const CellResult*>> shapes;
  const std::vector<const CellResult*> cells = record::in_order(folder);
  for (const CellResult* cell : cells) {
    if (has_field(*cell)) shapes[cell->shape.id()].push_back(cell);
  }
  AllSeries all;
  for (const CellResult* cell : cells) {
    const Case& shape = cell->shape;
    // Fewer key heads do not become fewer with the heads.
    if (!has_field(*cell) || cell->cell.formulation != Formulation::split ||
        shape.key_heads() != shape.heads) {
      continue;
    }
    const CellResult* wrapper = judge::wrapper_of(shapes[shape.id()], *cell);
    if (wrapper == nullptr) continue;
    const SplitField field{wrapper, cell, {}};
    all[{true, of_one_width(shape)}].fields.push_back(field);
    if (shape.d_in == shape.d_out && shape.d_proj == shape.d_out) {
      all[{false, of_one_head_width(shape)}].fields.push_back(field);
    }
  }
  for (auto& [key, panel] : all) {
    panel.one_width = key.first;
    complete(panel);
  }
  return all;
}

bool is_worth_it(const HeadPanel& panel) {
  return panel.heads.size() > 1 &&
         (!panel.one_width || panel.heads.back() >= kSpan * panel.heads.front());
}

std::vector<HeadPanel> all_of(const Collection& collection, std::size_t machine) {
  std::vector<HeadPanel> panels;
  std::set<SeriesKey> seen;
  const std::vector<std::size_t>& entries = collection.machines[machine].entries;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    for (auto& [key, panel] : series_of(collection.entries[*entry].folder)) {
      if (!is_worth_it(panel) || !seen.insert(key).second) continue;
      panel.machine = machine;
      panel.entry = *entry;
      panels.push_back(std::move(panel));
    }
  }
  const auto order = [](const HeadPanel& panel) {
    const Case& shape = panel.shape();
    return std::tuple(!panel.one_width, shape.d_out, shape.tokens, shape.past);
  };
  std::stable_sort(panels.begin(), panels.end(),
                   [&](const HeadPanel& a, const HeadPanel& b) { return order(a) < order(b); });
  return panels;
}

}  // namespace

const SplitField* HeadPanel::at(const std::string& backend, std::int64_t wanted) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const SplitField& field) {
    return field.split->cell.backend == backend && field.split->shape.heads == wanted;
  });
  return found == fields.end() ? nullptr : &*found;
}

const Case& HeadPanel::shape() const {
  return std::min_element(fields.begin(), fields.end(),
                          [](const SplitField& a, const SplitField& b) {
                            return a.split->shape.heads < b.split->shape.heads;
                          })
      ->split->shape;
}

std::vector<HeadPanel> find_head_panels(const Collection& collection) {
  std::vector<HeadPanel> chosen;
  for (std::size_t machine = 0; machine < collection.machines.size(); ++machine) {
    std::vector<HeadPanel> own = all_of(collection, machine);
    const auto others = std::find_if(own.begin(), own.end(),
                                     [](const HeadPanel& panel) { return !panel.one_width; });
    if (others == own.begin() && others != own.end()) {
      chosen.push_back(
          std::move(*std::max_element(others, own.end(), [](const auto& a, const auto& b) {
            return a.heads.size() < b.heads.size();
          })));
    } else {
      std::move(own.begin(), others, std::back_inserter(chosen));
    }
  }
  return chosen;
}

void compare_head_panels(std::vector<HeadPanel>& panels, const Collection& collection,
                         judge::Comparisons& comparisons) {
  for (HeadPanel& panel : panels) {
    const double floor = collection.entries[panel.entry].noise_floor;
    for (SplitField& field : panel.fields) {
      comparisons.add(
          {field.wrapper, field.split, floor},
          [&field](const judge::CellDifference& found) { field.difference = found.difference; });
    }
  }
}

}  // namespace headroom::across
