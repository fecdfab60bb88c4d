// What a layer's tensors are called: by a layout that is recognised, or by the user.
#pragma once

#include <optional>
#include <string>

#include "headroom/load_weights.hpp"
#include "weights/layer/layouts.hpp"
#include "weights/layer/model_config.hpp"
#include "weights/tensor_set.hpp"

namespace headroom::weights {

struct Naming {
  std::optional<FoundLayer> found;  ///< empty for names that the user gave
  LayerNames names;
  Stored stored = Stored::out_in;
};

/// @throws InvalidArgument for parts that are not known or not enough, or a layer that is not
/// there;
///         FileError if no layer is recognised, or its matrices are not complete.
Naming name_tensors(const TensorSet& set, const WeightsOptions& options);

/// Adds the names of norms and sinks that the configuration speaks of.
/// @throws Unsupported if the layer has tensors that make another one of it.
void name_parameters(const TensorSet& set, const std::optional<ModelConfig>& config,
                     Naming& naming);

/// @throws FileError that names the tensor and others that may be meant.
[[noreturn]] void fail_missing(const TensorSet& set, const std::string& name);

}  // namespace headroom::weights
