// A layer of a user's own weights, which stands in place of drawn ones.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "headroom/load_weights.hpp"
#include "headroom/weights.hpp"
#include "plan/axes.hpp"
#include "weights/layer/load.hpp"
#include "weights/layer/stored_layer.hpp"

namespace headroom::plan {

/// Its files stay open, so that processes that are forked later read the same bytes.
struct UserWeights {
  std::filesystem::path path;
  weights::StoredLayer layer;
  weights::Survey survey;  ///< of its values, which were read once
  bool strict = false;
};

/// The layer that `--weights` and its companions name; null without `--weights`.
/// @throws InvalidArgument for options that fit neither each other nor the file; as `load_weights`.
std::shared_ptr<const UserWeights> find_user_weights(const Axes& axes);

/// The axes that are left: those that say what the file says are checked and taken out.
/// @throws InvalidArgument for an axis with several values, or another value than the file's.
Axes without_layer_axes(const Axes& axes, const LayerConfig& layer,
                        std::vector<std::string>& notes);

/// The values, for a shape that may leave out the output projection.
/// @throws FileError if they are not those that were read first; as `load_weights`.
SplitWeights load_user_weights(const UserWeights& user, const Case& shape);

}  // namespace headroom::plan
