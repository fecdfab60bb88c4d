#include "judge/verdict.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "statistics/rank_test.hpp"

namespace headroom::judge {
namespace {

Difference measure_difference(const SamplePair& pair, const CompareSettings& settings,
                              const statistics::RatioBootstrap& resamples) {
  Difference difference;
  difference.ratio = statistics::median(pair.next) / statistics::median(pair.base);
  difference.ci95 = resamples.ci95(pair.base, pair.next);
  difference.p = statistics::mann_whitney(pair.base, pair.next).p;
  difference.margin = std::max(settings.threshold, pair.noise_floor);
  difference.enough = std::min(pair.base.size(), pair.next.size()) >= statistics::kLeastSamples;
  return difference;
}

Verdict judge(const Difference& difference) {
  // The bounds are reciprocal, so that exchanging base and next only swaps faster and slower.
  const double above = 1 + difference.margin;
  const double below = 1 / above;
  const statistics::Interval& ratio = difference.ci95;
  if (!difference.enough) return Verdict::not_distinguishable;
  if (below <= ratio.low && ratio.high <= above) return Verdict::same;
  if (difference.corrected_p >= kSignificance) return Verdict::not_distinguishable;
  if (ratio.low > above) return Verdict::slower;
  if (ratio.high < below) return Verdict::faster;
  return Verdict::not_distinguishable;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::same:
      return "same";
    case Verdict::not_distinguishable:
      return "not distinguishable";
  }
  return "unknown";
}

std::vector<Difference> compare_samples(const std::vector<SamplePair>& pairs,
                                        const CompareSettings& settings) {
  std::vector<Difference> differences;
  std::vector<double> p;
  std::map<std::pair<std::size_t, std::size_t>, statistics::RatioBootstrap> resamples;
  for (const SamplePair& pair : pairs) {
    const std::pair counts(pair.base.size(), pair.next.size());
    const auto found =
        resamples.try_emplace(counts, counts.first, counts.second, settings.seed).first;
    differences.push_back(measure_difference(pair, settings, found->second));
    p.push_back(differences.back().p);
  }
  const std::vector<double> corrected = statistics::correct_for_many(p);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    differences[i].corrected_p = corrected[i];
    differences[i].verdict = judge(differences[i]);
  }
  return differences;
}

Difference compare_samples(const SamplePair& pair, const CompareSettings& settings) {
  return compare_samples(std::vector<SamplePair>{pair}, settings).front();
}

}  // namespace headroom::judge
