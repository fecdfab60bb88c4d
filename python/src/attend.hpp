// Attention over queries, keys and values that others made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache.hpp"
#include "headroom/dot_product.hpp"

namespace headroom::python {

namespace nb = nanobind;

struct AttendState : Owner {
  explicit AttendState(DotProductAttention&& made) : attention(std::move(made)) {}

  DotProductAttention attention;
};

class Attend {
 public:
  Attend(const DotProductSizes& most, const ScoreRule& rule, const AttentionOptions& options);

  /// @param q and out `(batch, tokens, heads, head_dim)`, k and v `(batch, keys, kv_heads,
  ///        head_dim)`; values of a head contiguous, else any strides above 0
  /// @param mask None, or float32, bfloat16 or bool, `(batch, heads, tokens, keys)`, each of them
  ///        or 1
  /// @param sinks None, or float32, one for each query head
  /// @param cache null, or one of `make_cache`
  /// @throws nb::type_error, InvalidArgument for arrays that do not fit
  void run(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle mask,
           nb::handle sinks, const std::optional<std::vector<std::int64_t>>& query_lengths,
           const std::optional<std::vector<std::int64_t>>& key_lengths, Cache* cache);
  std::unique_ptr<Cache> make_cache(std::int64_t sequences, std::int64_t capacity) const;

  const DotProductAttention& attention() const { return state_->attention; }

 private:
  std::shared_ptr<AttendState> state_;
};

}  // namespace headroom::python
