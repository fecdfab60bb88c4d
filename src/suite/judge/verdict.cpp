#include "judge/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/text/names.hpp"
#include "statistics/many_tests.hpp"
#include "statistics/samples.hpp"
#include "statistics/student_t.hpp"

namespace headroom::judge {
namespace {

constexpr Name<Verdict> kVerdicts[] = {{Verdict::faster, "faster"},
                                       {Verdict::slower, "slower"},
                                       {Verdict::same, "same"},
                                       {Verdict::not_distinguishable, "not distinguishable"}};

using statistics::SamplesByProcess;

// Logarithms, because a spread of times is a share of the time.
std::vector<double> log_medians(const SamplesByProcess& samples) {
  std::vector<double> logs = statistics::process_medians(samples);
  for (double& value : logs) value = std::log(value);
  return logs;
}

Difference measure_difference(const SamplePair& pair, const CompareSettings& settings,
                              const statistics::RatioBootstrap& resamples) {
  Difference difference;
  difference.ratio = statistics::median(statistics::pooled(pair.next)) /
                     statistics::median(statistics::pooled(pair.base));
  difference.ci95 = resamples.ci95(pair.base, pair.next);
  difference.margin = std::max(settings.threshold, pair.noise_floor);
  // The samples of a process share its luck, so that only whole processes count as independent.
  // Ranks of a few processes could not reach significance once many cells are compared.
  difference.enough = std::min(pair.base.size(), pair.next.size()) > 1;
  if (difference.enough) {
    difference.p = statistics::welch_p(log_medians(pair.base), log_medians(pair.next));
  }
  return difference;
}

Verdict judge(const Difference& difference) {
  // The bounds are reciprocal, so that exchanging base and next only swaps faster and slower.
  const double above = 1 + difference.margin;
  const double below = 1 / above;
  const statistics::Interval& interval = difference.ci95;
  if (!difference.enough) return Verdict::not_distinguishable;
  if (below <= interval.low && interval.high <= above) return Verdict::same;
  if (difference.corrected_p >= kSignificance) return Verdict::not_distinguishable;
  if (difference.ratio > above && interval.low > 1) return Verdict::slower;
  if (difference.ratio < below && interval.high < 1) return Verdict::faster;
  return Verdict::not_distinguishable;
}

}  // namespace

std::string_view to_string(Verdict verdict) { return name_of(kVerdicts, verdict); }

std::vector<Difference> compare_samples(const std::vector<SamplePair>& pairs,
                                        const CompareSettings& settings) {
  std::vector<Difference> differences;
  std::vector<double> p;
  using Counts = statistics::SampleCounts;
  std::map<std::pair<Counts, Counts>, statistics::RatioBootstrap> resamples;
  for (const SamplePair& pair : pairs) {
    const std::pair counts(statistics::counts_of(pair.base), statistics::counts_of(pair.next));
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
