#include <algorithm>

#include "distributed/rank_plan.hpp"

namespace headroom {

DistributedAttention::DistributedAttention(MPI_Comm communicator, const LayerConfig& config,
                                           const CallSizes& largest, const SplitWeights& own,
                                           const AttentionOptions& options,
                                           const DistributedOptions& how) {
  using distributed::Communicator;
  Communicator all = Communicator::copy_of(communicator);
  const MPI_Comm handle = all.get();
  distributed::agree(handle, distributed::said_by(all.rank(), [&] {
                       plan_ = std::make_unique<Plan>(all, Case{config, largest}, options);
                     }));
  plan_->make(own, how);
}
DistributedAttention::~DistributedAttention() = default;
DistributedAttention::DistributedAttention(DistributedAttention&&) noexcept = default;
DistributedAttention& DistributedAttention::operator=(DistributedAttention&&) noexcept = default;

void DistributedAttention::forward(ConstMatrixView x, MatrixView y, const Call& call,
                                   DistributedCache* cache) {
  plan_->forward(x, y, call, cache);
}

void DistributedAttention::append(ConstMatrixView x, const Call& call, DistributedCache& cache) {
  plan_->append(x, call, cache);
}

void DistributedAttention::meet() { plan_->meet(); }

const LayerConfig& DistributedAttention::config() const { return plan_->shape; }
const CallSizes& DistributedAttention::largest() const { return plan_->shape; }
const HeadShare& DistributedAttention::share() const { return plan_->share; }
int DistributedAttention::rank() const { return plan_->all.rank(); }
int DistributedAttention::ranks() const { return plan_->all.size(); }
int DistributedAttention::machines() const { return plan_->machines; }
const AttentionOptions& DistributedAttention::options() const { return plan_->options; }
const Choice& DistributedAttention::choice() const { return plan_->choice; }
const AttentionCosts& DistributedAttention::costs() const { return plan_->costs; }

}  // namespace headroom
