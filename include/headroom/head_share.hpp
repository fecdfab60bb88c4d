/// @file
/// How the heads of a layer are divided among ranks, each of which computes some of them.
#pragma once

#include <cstdint>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// The heads of one rank: consecutive query heads, and the key heads that they use.
struct HeadShare {
  std::int64_t first_head = 0;
  std::int64_t heads = 0;  ///< 0: there are more ranks than heads, and this one has none
  std::int64_t first_key_head = 0;
  std::int64_t key_heads = 0;

  bool operator==(const HeadShare&) const = default;
};

/// The share of a rank. Key heads are divided as evenly as they go, each with its query heads. With
/// more ranks than key heads the query heads of one are divided as well, and each of those ranks
/// computes that key head. Rank 0 always has heads.
/// @throws InvalidArgument for an invalid layer, less than one rank, or a rank that is not one of
///         them.
HEADROOM_API HeadShare share_of(const LayerConfig& config, int ranks, int rank);

/// The layer of these heads alone. Its `output_width()` is that of the whole layer if that has an
/// output projection, else `heads * head_value_dim()`.
/// @pre the share has heads.
HEADROOM_API LayerConfig share_config(const LayerConfig& config, const HeadShare& share);

/// The columns of W_q, W_k and W_v and the rows of W_o that belong to these heads. The output's
/// bias goes to the share of head 0; the others get zeros, so that the sum over all ranks has it
/// once.
/// @pre the share has heads. @throws InvalidArgument if the weights do not fit the layer.
HEADROOM_API SplitWeights share_weights(const LayerConfig& config, const SplitWeights& weights,
                                        const HeadShare& share);

}  // namespace headroom
