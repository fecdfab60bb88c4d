#include "tuning/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

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
  return a.backend == b.backend && a.formulation == b.formulation && a.threads == b.threads;
}

bool fits(const Candidate& candidate, const Request& request) {
  if (request.formulation && candidate.formulation != *request.formulation) return false;
  const auto backend = request.usable.find(candidate.backend);
  return backend != request.usable.end() && backend->second == candidate.threads;
}

std::vector<Candidate> fitting(const TunedShape& tuned, const Request& request) {
  std::vector<Candidate> candidates;
  for (const Candidate& candidate : tuned.candidates) {
    if (fits(candidate, request)) candidates.push_back(candidate);
  }
  return candidates;
}

// Shapes near enough, the nearest first.
std::vector<Neighbour> neighbours(const TuningFile& file, const Shape& shape) {
  std::vector<Neighbour> all;
  for (const TunedShape& tuned : file.shapes) all.push_back({&tuned, distance(tuned.shape, shape)});
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
  const double reach = std::max(all.front().distance, kSameShape) * kReach;
  std::erase_if(all, [&](const Neighbour& neighbour) { return neighbour.distance > reach; });
  return all;
}

// The mean logarithm of time over the fastest, or nothing if no shape has the candidate.
double mean_loss(const Candidate& candidate, const std::vector<Neighbour>& around,
                 const Request& request) {
  double sum = 0;
  double weights = 0;
  for (const Neighbour& neighbour : around) {
    const std::vector<Candidate> rivals = fitting(*neighbour.tuned, request);
    const auto own = std::find_if(rivals.begin(), rivals.end(), [&](const Candidate& other) {
      return same_candidate(candidate, other);
    });
    if (own == rivals.end()) continue;
    const auto best = std::min_element(
        rivals.begin(), rivals.end(),
        [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
    const double weight = std::pow(std::max(neighbour.distance, kSameShape), -4);
    sum += weight * std::log(own->seconds / best->seconds);
    weights += weight;
  }
  return sum / weights;
}

// Times of another level say nothing about this one's.
std::string other_isa(const TuningFile& file, const Request& request) {
  for (const TunedShape& tuned : file.shapes) {
    for (const Candidate& candidate : tuned.candidates) {
      if (candidate.isa != kOnlyIsa && candidate.isa != request.isa) {
        return fmt::format("it was measured with {}, and this layer runs {}", candidate.isa,
                           request.isa);
      }
    }
  }
  return "";
}

std::string why_none(const std::vector<Candidate>& candidates, const Request& request) {
  if (candidates.empty()) {
    return "it has no time of a backend in this program that could run this layer with as many "
           "threads";
  }
  // A file of one thread's times knows nothing of what several would win.
  const bool threads_usable =
      std::any_of(request.usable.begin(), request.usable.end(),
                  [&](const auto& backend) { return backend.second == request.threads; });
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
        fmt::format("its nearest shape {} is {:.1f} doublings away, and {} is the farthest",
                    prediction.nearest.id(), prediction.distance, kFarthest);
    return prediction;
  }
  const std::vector<Candidate> candidates = fitting(*around.front().tuned, request);
  prediction.why_not = why_none(candidates, request);
  if (!prediction.why_not.empty()) return prediction;
  double least = 0;
  for (const Candidate& candidate : candidates) {
    const double loss = mean_loss(candidate, around, request);
    if (prediction.best && loss >= least) continue;
    prediction.best = candidate;
    least = loss;
  }
  return prediction;
}

}  // namespace headroom::tuning
