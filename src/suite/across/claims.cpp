#include "across/claims.hpp"

#include <utility>

#include "judge/noise.hpp"

namespace headroom::across {

void Claims::add(const Claim& claim, Answer answer) {
  claims_.push_back(claim);
  answers_.push_back(std::move(answer));
}

void Claims::run() const {
  std::vector<judge::SamplePair> pairs;
  pairs.reserve(claims_.size());
  for (const Claim& claim : claims_) {
    const bool by_control = claim.one_machine && judge::same_control(*claim.base, *claim.next);
    judge::SamplePair pair{record::samples_of(*claim.base, by_control),
                           record::samples_of(*claim.next, by_control), claim.noise_floor};
    for (std::vector<double>& samples : pair.next) {
      for (double& sample : samples) sample *= claim.factor;
    }
    pairs.push_back(std::move(pair));
  }
  const std::vector<judge::Difference> found = judge::compare_samples(pairs);
  for (std::size_t i = 0; i < found.size(); ++i) answers_[i](found[i]);
}

}  // namespace headroom::across
