// What a handful of samples says, and whether two handfuls say different things. Every command that
// calls something faster or slower asks here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom::sweep {

/// Middle value; the mean of the two middle ones for an even count. @pre not empty.
double median(std::vector<double> values);

/// Arithmetic mean. @pre not empty.
double mean(const std::vector<double>& values);

/// Of a sample, with `n - 1` in the divisor; 0 for a single value. @pre not empty.
double standard_deviation(const std::vector<double>& values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The interval that holds the median in 95 of 100 cases: the 2.5th and 97.5th percentile of the
/// medians of many samples drawn, with replacement, from the given ones (percentile bootstrap).
/// The same seed gives the same interval. A single value is its own interval. @pre not empty.
Interval bootstrap_median_ci95(const std::vector<double>& samples, std::uint64_t seed);

/// The same for `median(next) / median(base)`, both drawn anew each time.
/// @pre neither is empty, and all of `base` is above 0.
Interval bootstrap_ratio_ci95(const std::vector<double>& base, const std::vector<double>& next,
                              std::uint64_t seed);

/// A two-sided Mann-Whitney U test.
struct RankTest {
  double u = 0;        ///< pairs in which the value of `a` is the larger; ties count one half
  double p = 1;        ///< probability of a U at least as far from the middle if a and b are alike
  bool exact = false;  ///< from the distribution of U itself, not from its normal approximation
};

/// Exact without ties and up to `kMostExact` values a side, else the normal approximation with
/// continuity and tie correction (Mann and Whitney 1947, Ann. Math. Stat. 18). @pre none is empty.
RankTest mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

// Up to here the counts of all arrangements, at most C(50, 25) = 1.3e14, are exact as doubles.
inline constexpr std::size_t kMostExact = 25;

/// p-values of many tests, corrected so that of the differences claimed at a level, no more than
/// that share is false (Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57). Not Holm's: under his,
/// one of 100 cells with few samples could never be called different, and drift, which moves the
/// cells of a run together, is of the kind under which this correction holds as well.
std::vector<double> correct_for_many(const std::vector<double>& p);

enum class Verdict { faster, slower, same, not_distinguishable };

/// As people read it: `"faster"`, `"slower"`, `"same"`, `"not distinguishable"`.
std::string_view to_string(Verdict verdict);

/// Times of one cell from two runs, or of two cells from one run.
struct SamplePair {
  std::vector<double> base;
  std::vector<double> next;
  double noise_floor = 0;  ///< ratio less 1 by which equal programs are seen to differ; 0: unknown
};

struct CompareSettings {
  double threshold = 0.03;  ///< ratio less 1 below which a difference does not matter
  std::uint64_t seed = 1;
};

struct Difference {
  double ratio = 1;        ///< of the medians, next / base; above 1 is slower
  Interval ci95;           ///< of the ratio
  double p = 1;            ///< Mann-Whitney
  double corrected_p = 1;  ///< for all pairs that were asked about together
  double margin = 0;       ///< the larger of threshold and noise floor
  bool enough = false;     ///< whether both sides have `kLeastSamples`
  Verdict verdict = Verdict::not_distinguishable;
};

inline constexpr double kSignificance = 0.05;

// Of five samples the whole range holds the median in 94 of 100 cases, of four in 88: with fewer
// there is no interval of 95 %.
inline constexpr std::size_t kLeastSamples = 5;

/// `slower` or `faster` takes both: a corrected p below `kSignificance`, and an interval of the
/// ratio that lies wholly beyond the margin (above `1 + margin`, below `1 / (1 + margin)`). `same`
/// is an interval wholly within it. Everything else, and fewer than `kLeastSamples` on a side, is
/// not distinguishable.
/// @pre no sample list is empty, and all samples are above 0.
std::vector<Difference> compare_samples(const std::vector<SamplePair>& pairs,
                                        const CompareSettings& settings = {});

/// One pair alone.
Difference compare_samples(const SamplePair& pair, const CompareSettings& settings = {});

}  // namespace headroom::sweep
