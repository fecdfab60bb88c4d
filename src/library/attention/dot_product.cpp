#include "headroom/dot_product.hpp"

#include "attention/dot_product_plan.hpp"
#include "attention/heads_views.hpp"

namespace headroom {

DotProductAttention::DotProductAttention(const DotProductSizes& most, const ScoreRule& rule,
                                         const AttentionOptions& options)
    : plan_(std::make_unique<Plan>(most, rule, options)) {}
DotProductAttention::~DotProductAttention() = default;
DotProductAttention::DotProductAttention(DotProductAttention&&) noexcept = default;
DotProductAttention& DotProductAttention::operator=(DotProductAttention&&) noexcept = default;

void DotProductAttention::run(const ConstAnyHeads& q, const ConstAnyHeads& k,
                              const ConstAnyHeads& v, const AnyHeads& out,
                              const DotProductCall& call) {
  plan_->run(q, k, v, out, call);
}

const Choice& DotProductAttention::choice() const { return plan_->choice; }

const AttentionCosts& DotProductAttention::costs() const { return plan_->costs; }

void attention(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
               const AnyHeads& out, const ScoreRule& rule, const AttentionOptions& options,
               const DotProductCall& call) {
  check_heads(q, k, v, out);
  if (q.batch == 0 || q.tokens == 0) return;
  DotProductAttention once({q.batch, q.tokens, k.tokens, q.heads, k.heads, q.head_dim}, rule,
                           options);
  once.run(q, k, v, out, call);
}

}  // namespace headroom
