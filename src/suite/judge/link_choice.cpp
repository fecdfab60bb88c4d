#include "judge/link_choice.hpp"

#include <algorithm>
#include <tuple>

#include "backends/backend.hpp"
#include "headroom/backend.hpp"

namespace headroom::judge {

Loss loss_of(const Difference& to_fastest) {
  const double most = 1 + to_fastest.margin;
  if (to_fastest.verdict == Verdict::same || to_fastest.verdict == Verdict::faster) {
    return Loss::little;
  }
  if (!to_fastest.enough) return Loss::unknown;
  if (to_fastest.verdict == Verdict::slower || to_fastest.ci95.low > most) return Loss::large;
  return to_fastest.ci95.high <= most ? Loss::little : Loss::unknown;
}

LinkWeight weight_by_facts(const std::string& backend) {
  const std::vector<BackendInfo> all = backends();
  const bool known = std::any_of(all.begin(), all.end(), [&](const BackendInfo& info) {
    return info.name == backend && info.available;
  });
  const BackendFacts& facts = backend_facts(backend);
  return {!known, facts.packages.size(), 0, facts.build_packages.size()};
}

LinkChoice choose_to_link(const std::vector<Contender>& contenders) {
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
  return choice;
}

}  // namespace headroom::judge
