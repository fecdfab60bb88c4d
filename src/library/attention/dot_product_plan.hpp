// What attention without weights is made of. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention/staged_heads.hpp"
#include "backends/backend.hpp"
#include "core/case.hpp"
#include "headroom/dot_product.hpp"

namespace headroom {

class [[gnu::visibility("hidden")]] DotProductAttention::Plan {
 public:
  Plan(const DotProductSizes& most, const ScoreRule& rule, const AttentionOptions& options);

  void run(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
           const AnyHeads& out, const DotProductCall& given);
  std::unique_ptr<KeyValueStore> make_store(const CacheSize& size);

  Choice choice;
  AttentionCosts costs;
  std::uint64_t id;
  Storage stored;  ///< what keys and values are stored as

 private:
  void read(const ConstAnyHeads& q, const ConstAnyHeads& k, const DotProductCall& given);
  void attend(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
              const AnyHeads& out, const DotProductCall& given);
  void check_dtype(const char* name, Dtype found) const;
  void check_fits(const ConstAnyHeads& q, const ConstAnyHeads& k) const;
  void check_sinks(std::span<const float> sinks) const;
  void check_cache(const KeyValueCache& cache, const ConstAnyHeads& q) const;
  void check_sequence(const Sequence& sequence, const KeyValueCache* cache) const;

  ScoreRule rule_;
  Case shape_;  ///< of the largest call
  Dtype dtype_ = Dtype::f32;
  StagedHeads staged_;  ///< for a backend that takes floats alone
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<HeadAttention> attend_;
  std::vector<Sequence> all_;        ///< of the call, without their places
  std::vector<Sequence> sequences_;  ///< of one run of the backend
};

}  // namespace headroom
