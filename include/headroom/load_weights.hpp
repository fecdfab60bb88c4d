/// @file
/// The weights of one attention layer of a trained model, read from its files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// How a stored matrix lies.
enum class Stored {
  out_in,  ///< one row per output, as `nn.Linear` keeps it: `y = x W^T`
  in_out,  ///< one row per input, as GPT-2's `Conv1D` keeps it: `y = x W`
};

/// Which layer of a file, and what the file does not say. Nothing here has to be set where the
/// tensors' names are known and a `config.json` lies beside the file, or the file is a GGUF file.
struct WeightsOptions {
  /// The number in the names of the layer's tensors, such as `"3"`, or the part of the names that
  /// they share, such as `"decoder.layers.3.self_attn"`. Empty: the lowest number.
  std::string layer = {};
  std::int64_t heads = 0;     ///< 0: from `config.json`, or by `head_dim`
  std::int64_t kv_heads = 0;  ///< 0: what the widths give
  std::int64_t head_dim = 0;  ///< 0: what the widths give
  /// These replace what the model does, with a note where it does otherwise.
  std::optional<bool> causal = std::nullopt;
  std::optional<std::int64_t> window = std::nullopt;
  /// With base and scale at their defaults, those of `config.json` are taken where it has them.
  std::optional<Rotary> rotary = std::nullopt;
  /// The model's configuration; empty: `config.json` beside the weights, if there is one.
  std::filesystem::path config = {};
  /// The family of models, such as `"llama"`, whose layers compute what this one does, where that
  /// of the configuration is not known; empty: the configuration's `model_type`.
  std::string family = {};
  /// Names of tensors in place of recognised ones, by what they are: `query`, `key` and `value`, or
  /// `qkv` for the three of them one after the other; `output`; and each with `_bias`. What is not
  /// named is not there: without `output` the layer has no output projection.
  std::map<std::string, std::string> tensors = {};
  /// Empty: as the recognised layout has it, or `out_in` for named tensors.
  std::optional<Stored> stored = std::nullopt;
  std::int64_t max_bytes = 0;  ///< of the weights in memory; 0: no limit
  bool strict = false;         ///< NaN and infinity are errors and not warnings
};

/// A layer's weights, and what is known of the layer.
struct LayerWeights {
  LayerConfig config;                   ///< as far as a file says it
  WeightViews weights;                  ///< as the files store them
  std::shared_ptr<const void> tensors;  ///< keeps what `weights` views
  std::string layout;                   ///< such as `"gpt2"`, or `"named"`
  std::string layer;                    ///< what the names of its tensors share
  std::vector<std::string> notes;       ///< what was assumed, and why
  std::vector<std::string> warnings;    ///< such as NaN among the weights
  std::string fingerprint;              ///< of the tensors' bytes
};

/// Reads the weights of one layer; of a large file, only the tensors that it needs. They are kept
/// as they are stored, but for f64, which is rounded to f32. A bias that the layout may leave out
/// is zero then.
/// @param path a safetensors file, a folder with one or with the index of several, a GGUF file or a
///        folder with one, or a folder of `.npy` files, each named after its tensor
/// @throws FileError for a file that is not what it should be, naming the tensor, and for a tensor
///         that is missing or has another shape; InvalidArgument for options that say too little or
///         contradict the file; Unsupported if the model does something between these tensors that
///         this layer does not; ResourceError above `max_bytes`; std::bad_alloc.
HEADROOM_API LayerWeights load_weights(const std::filesystem::path& path,
                                       const WeightsOptions& options = {});

}  // namespace headroom
