// Latents of a layer, and the absorbed order over them, for those who want to show them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"
#include "reference/intermediates.hpp"

namespace headroom::reference {

/// All in double, a row for each of `B * T` tokens.
struct Latents {
  std::vector<double> query, normed_query;  ///< of `query_rank`; empty without such a latent
  /// Of `latent_width()`: the latent, then what heads share of a key, which has neither a norm nor
  /// been turned.
  std::vector<double> key, normed_key;
};

Latents latents(const Case& shape, const SplitWeights& weights, ConstMatrixView x);

/// What a row gives with its products in the absorbed order, beside those of the expanded one: a
/// score's own part is `q (c W_k)^T = (q W_k^T) c^T`, and a head's context `sum_j p_j (c_j W_v) =
/// (sum_j p_j c_j) W_v`.
struct AbsorbedRow {
  std::vector<double> query;            ///< `H x rank`: `q W_k^T` of the query's own part
  std::vector<double> expanded_scores;  ///< `T x H`: its products with keys,
  std::vector<double> scores;           ///< and those of `query` with latents; without the scale
  std::vector<double> latent;           ///< `H x rank`: the weighted sum of latents
  std::vector<double> context;          ///< `H x head_value_dim()`: that times `W_v`
};

/// @param row which token, of all sequences
AbsorbedRow absorbed_row(const Case& shape, const SplitWeights& weights, const Intermediates& seen,
                         const Latents& latents, std::int64_t row);

}  // namespace headroom::reference
