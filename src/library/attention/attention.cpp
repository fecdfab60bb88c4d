#include "headroom/attention.hpp"

#include "attention/plan/plan.hpp"

namespace headroom {

Attention::Attention(const LayerConfig& config, const CallSizes& largest,
                     const WeightViews& weights, const AttentionOptions& options)
    : plan_(std::make_unique<Plan>(Case{config, largest}, weights, options)) {}
Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;

void Attention::forward(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call) {
  plan_->forward(x, y, call);
}

void Attention::append(const ConstAnyMatrix& x, const Call& call) { plan_->append(x, call); }

const LayerConfig& Attention::config() const { return plan_->shape; }
const CallSizes& Attention::largest() const { return plan_->shape; }
const AttentionOptions& Attention::options() const { return plan_->options; }
const Choice& Attention::choice() const { return plan_->choice; }
const AttentionCosts& Attention::costs() const { return plan_->costs; }

Attention make_attention(std::string_view backend, const LayerConfig& config,
                         const CallSizes& largest, const WeightViews& weights,
                         AttentionOptions options) {
  options.backend = backend;
  return {config, largest, weights, options};
}

}  // namespace headroom
