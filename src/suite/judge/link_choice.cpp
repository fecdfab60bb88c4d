#include "judge/link_choice.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "backends/backend.hpp"
#include "core/text/names.hpp"
#include "headroom/backend.hpp"

namespace headroom::judge {
namespace {

constexpr Name<Sureness> kSureness[] = {{Sureness::clear, "clear"},
                                        {Sureness::tie, "tie"},
                                        {Sureness::unknown, "unclear"},
                                        {Sureness::alone, "only one"}};

constexpr Formulation kByPreference[] = {Formulation::split, Formulation::fused,
                                         Formulation::wrapper};

auto place_of(Formulation formulation) {
  return std::find(std::begin(kByPreference), std::end(kByPreference), formulation);
}

}  // namespace

Loss loss_of(const Difference& to_fastest) {
  const double most = 1 + to_fastest.margin;
  if (to_fastest.verdict == Verdict::same || to_fastest.verdict == Verdict::faster) {
    return Loss::little;
  }
  if (!to_fastest.enough) return Loss::unknown;
  if (to_fastest.verdict == Verdict::slower || to_fastest.ci95.low > most) return Loss::large;
  return to_fastest.ci95.high <= most ? Loss::little : Loss::unknown;
}

bool may_be_as_fast(const Difference& to_fastest) {
  return to_fastest.verdict != Verdict::slower && to_fastest.ci95.low <= 1 + to_fastest.margin;
}

std::string_view to_string(Sureness sureness) { return name_of(kSureness, sureness); }

Sureness sureness_of(const std::vector<Showing>& backends) {
  if (backends.size() == 1) return Sureness::alone;
  std::size_t leading = 0;
  bool little = true;
  for (const Showing& backend : backends) {
    if (!backend.leads) continue;
    ++leading;
    little = little && backend.loss == Loss::little;
  }
  if (leading == 1) return Sureness::clear;
  return little ? Sureness::tie : Sureness::unknown;
}

LinkWeight weight_by_facts(const std::string& backend) {
  const std::vector<BackendInfo> all = backends();
  const bool known = std::any_of(all.begin(), all.end(), [&](const BackendInfo& info) {
    return info.name == backend && info.available;
  });
  const BackendFacts& facts = backend_facts(backend);
  return {!known, facts.packages.size(), 0, facts.build_packages.size()};
}

Contender contender_of(const record::CellResult& cell, const record::CellResult& fastest,
                       const Difference& to_fastest, const LinkWeight& weight) {
  return {0,
          std::log(cell.time.median / fastest.time.median),
          loss_of(to_fastest),
          weight,
          cell.cell.formulation,
          may_be_as_fast(to_fastest)};
}

bool preferred(const Contender& a, const Contender& b) {
  if (a.missing != b.missing) return a.missing < b.missing;
  if (a.level != b.level) return a.level;
  if (!a.level) return a.behind < b.behind;
  return std::tuple(a.weight, place_of(a.formulation), a.behind) <
         std::tuple(b.weight, place_of(b.formulation), b.behind);
}

LinkChoice choose_to_link(const std::vector<Contender>& contenders, Sureness sureness) {
  LinkChoice choice;
  const auto speed = [&](std::size_t i) {
    return std::tie(contenders[i].missing, contenders[i].behind);
  };
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    if (speed(i) < speed(choice.fastest)) choice.fastest = i;
  }
  choice.chosen = choice.fastest;
  const auto lighter_with = [&](std::size_t i, Loss loss) {
    const Contender& other = contenders[i];
    return i != choice.fastest && other.missing == 0 && other.loss == loss &&
           other.weight < contenders[choice.chosen].weight;
  };
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (lighter_with(i, Loss::little)) choice.chosen = i;
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (lighter_with(i, Loss::unknown)) choice.open.push_back(i);
  }
  if (sureness == Sureness::unknown) {
    const auto first = std::min_element(contenders.begin(), contenders.end(), preferred);
    choice.chosen = static_cast<std::size_t>(first - contenders.begin());
  }
  return choice;
}

}  // namespace headroom::judge
