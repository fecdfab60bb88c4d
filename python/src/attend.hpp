// Attention over queries, keys and values that others made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "headroom/dot_product.hpp"

namespace headroom::python {

namespace nb = nanobind;

class Attend {
 public:
  Attend(const DotProductSizes& most, const ScoreRule& rule, const AttentionOptions& options);

  /// @param q and out `(batch, tokens, heads, head_dim)`, k and v `(batch, keys, kv_heads,
  ///        head_dim)`; values of a head contiguous, else any strides above 0
  /// @param mask None, or float32 or bool, `(batch, heads, tokens, keys)`, each of them or 1
  /// @throws nb::type_error, InvalidArgument for arrays that do not fit
  void run(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle mask,
           const std::optional<std::vector<std::int64_t>>& query_lengths,
           const std::optional<std::vector<std::int64_t>>& key_lengths);

 private:
  std::optional<DotProductAttention> attend_;  // made while other threads of Python may run
  std::mutex one_call_;
};

}  // namespace headroom::python
