#include "tuning/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/call/demand.hpp"
#include "tuning/distance.hpp"

namespace headroom::tuning {
namespace {

constexpr double kReach = 2;         // times the distance of the nearest
constexpr double kSameShape = 1e-6;  // doublings

struct Neighbour {
  const TunedShape* tuned = nullptr;
  double distance = 0;
};

bool same_candidate(const Candidate& a, const Candidate& b) {
  return a.backend == b.backend && a.formulation == b.formulation && a.threads == b.threads &&
         a.numbers == b.numbers && a.unit == b.unit;
}

bool fits(const Candidate& candidate, const Request& request) {
  if (request.formulation && candidate.formulation != *request.formulation) return false;
  const auto backend = request.usable.find(candidate.backend);
  if (backend == request.usable.end()) return false;
  if (backend->second.threads != candidate.threads) return false;
  const std::vector<Computed>& could = backend->second.computed;
  return std::any_of(could.begin(), could.end(), [&](const Computed& computed) {
    Numbers numbers = request.stored;
    numbers.precision = computed.precision;
    return candidate.numbers == numbers && candidate.unit == computed.unit;
  });
}

std::vector<Candidate> fitting(const TunedShape& tuned, const Request& request) {
  std::vector<Candidate> candidates;
  for (const Candidate& candidate : tuned.candidates) {
    if (fits(candidate, request)) candidates.push_back(candidate);
  }
  return candidates;
}

// Shapes near enough, the nearest first. What is fastest for a prompt says little about the steps
// after it, so shapes of the same demand come before any other, if one of them is near enough.
std::vector<Neighbour> neighbours(const TuningFile& file, const Case& shape) {
  std::vector<Neighbour> all, same;
  for (const TunedShape& tuned : file.shapes) {
    const Neighbour neighbour{&tuned, distance(tuned.shape, shape)};
    all.push_back(neighbour);
    if (demand_of(tuned.shape) == demand_of(shape)) same.push_back(neighbour);
  }
  const auto near_enough = [](const Neighbour& one) { return one.distance <= kFarthest; };
  if (std::any_of(same.begin(), same.end(), near_enough)) all = std::move(same);
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
  const double reach = std::max(all.front().distance, kSameShape) * kReach;
  std::erase_if(all, [&](const Neighbour& neighbour) { return neighbour.distance > reach; });
  return all;
}

// The sizes used for regression, as doublings from the wanted shape. The leading 1 is the
// intercept, which is the value at that shape.
using Features = std::array<double, 4>;

Features features(const Case& shape, const Case& wanted) {
  const auto doublings = [](std::int64_t size, std::int64_t from) {
    return std::log2(static_cast<double>(std::max<std::int64_t>(size, 1)) /
                     static_cast<double>(std::max<std::int64_t>(from, 1)));
  };
  return {1, doublings(shape.rows(), wanted.rows()), doublings(shape.d_out, wanted.d_out),
          doublings(shape.heads, wanted.heads)};
}

// Weighted least squares with a penalty on the slopes, solved by the normal equations.
class LocalFit {
 public:
  void add(const Features& x, double y, double weight) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) matrix_[i][j] += weight * x[i] * x[j];
      right_[i] += weight * x[i] * y;
    }
  }

  // The value where all doublings are 0. The penalty makes the matrix positive definite, so
  // elimination from the last row up needs no pivoting.
  double value() {
    for (std::size_t i = 1; i < right_.size(); ++i) matrix_[i][i] += kPenalty * matrix_[0][0];
    for (std::size_t k = right_.size() - 1; k > 0; --k) {
      for (std::size_t i = 0; i < k; ++i) {
        const double factor = matrix_[i][k] / matrix_[k][k];
        for (std::size_t j = 0; j <= k; ++j) matrix_[i][j] -= factor * matrix_[k][j];
        right_[i] -= factor * right_[k];
      }
    }
    return right_[0] / matrix_[0][0];
  }

 private:
  // In units of one neighbour that is one doubling away. Leave-one-out over 22 shapes on two cores
  // with AVX2 lost 1.4 % on average with 1, 2.2 % with 0.1, and 4.4 % without slopes.
  static constexpr double kPenalty = 1;

  std::array<Features, 4> matrix_{};
  Features right_{};
};

// The logarithm of the candidate's expected time at the wanted shape over that of the fastest.
double expected_loss(const Candidate& candidate, const std::vector<Neighbour>& around,
                     const Request& request) {
  LocalFit fit;
  for (const Neighbour& neighbour : around) {
    const std::vector<Candidate> rivals = fitting(*neighbour.tuned, request);
    const auto own = std::find_if(rivals.begin(), rivals.end(), [&](const Candidate& other) {
      return same_candidate(candidate, other);
    });
    if (own == rivals.end()) continue;
    const auto best = std::min_element(
        rivals.begin(), rivals.end(),
        [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
    // Distances are relative to the nearest, so that the weights stay in the range of a double.
    const double nearest = std::max(around.front().distance, kSameShape);
    const double distance = std::max(neighbour.distance, kSameShape);
    fit.add(features(neighbour.tuned->shape, request.shape), std::log(own->seconds / best->seconds),
            std::pow(nearest / distance, 4));
  }
  return fit.value();
}

// Times of another level do not apply to this one.
std::string other_isa(const TuningFile& file, const Request& request) {
  for (const TunedShape& tuned : file.shapes) {
    for (const Candidate& candidate : tuned.candidates) {
      if (candidate.isa != kOnlyIsa && candidate.isa != request.isa) {
        return fmt::format("it was measured with {}, but this layer runs {}", candidate.isa,
                           request.isa);
      }
    }
  }
  return "";
}

std::string why_none(const std::vector<Candidate>& candidates, const Request& request) {
  if (candidates.empty()) {
    return "it has no time for a backend in this program that can run this layer with that many "
           "threads, that precision and that dtype, by the same unit";
  }
  // A file with times of one thread cannot tell what several would gain.
  const bool threads_usable =
      std::any_of(request.usable.begin(), request.usable.end(),
                  [&](const auto& backend) { return backend.second.threads == request.threads; });
  const bool threads_measured =
      std::any_of(candidates.begin(), candidates.end(),
                  [&](const Candidate& candidate) { return candidate.threads == request.threads; });
  if (threads_measured || !threads_usable) return "";
  return fmt::format("it has no time with {} threads", request.threads);
}

}  // namespace

Prediction predict(const TuningFile& file, const Request& request) {
  Prediction prediction;
  prediction.why_not = other_isa(file, request);
  if (!prediction.why_not.empty()) return prediction;
  const std::vector<Neighbour> around = neighbours(file, request.shape);
  prediction.nearest = around.front().tuned->shape;
  prediction.distance = around.front().distance;
  prediction.shapes = around.size();
  if (prediction.distance > kFarthest) {
    prediction.why_not =
        fmt::format("its nearest shape {} is {:.1f} doublings away; the limit is {}",
                    prediction.nearest.id(), prediction.distance, kFarthest);
    return prediction;
  }
  const std::vector<Candidate> candidates = fitting(*around.front().tuned, request);
  prediction.why_not = why_none(candidates, request);
  if (!prediction.why_not.empty()) return prediction;
  double least = 0;
  for (const Candidate& candidate : candidates) {
    prediction.precisions.insert(candidate.numbers.precision);
    const double loss = expected_loss(candidate, around, request);
    if (prediction.best && loss >= least) continue;
    prediction.best = candidate;
    least = loss;
  }
  return prediction;
}

}  // namespace headroom::tuning
