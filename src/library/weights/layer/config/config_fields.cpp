#include "weights/layer/config/config_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kMost = std::int64_t{1} << 31;

// What the name of a field of attention has in it. Biases are what the tensors say.
constexpr std::string_view kOfAttention[] = {
    "alibi",    "attention", "attn",  "bidirectional", "causal",      "chunk",  "clip",
    "head",     "key",       "kv",    "latent",        "layer_types", "lora",   "mask",
    "position", "qk",        "query", "relative",      "rope",        "rotary", "scal",
    "sink",     "softcap",   "value", "window"};

// Fields with such names, of the known families' classes and of files that are published, which
// mean nothing for what a layer computes between its tensors without dropout.
constexpr std::string_view kMeansNothing[] = {"_attn_implementation",
                                              "_attn_implementation_autoset",
                                              "_attn_implementation_internal",
                                              "add_cross_attention",
                                              "apply_residual_connection_post_layernorm",
                                              "attention_bias",
                                              "attention_dropout",
                                              "attention_in_multiplier",
                                              "attention_out_bias",
                                              "attention_out_multiplier",
                                              "attention_probs_dropout_prob",
                                              "attn_implementation",
                                              "attn_pdrop",
                                              "chunk_size_feed_forward",
                                              "cross_attention_hidden_size",
                                              "deterministic_flash_attn",
                                              "final_logit_softcapping",
                                              "keys_to_ignore_at_inference",
                                              "layer_scale_init_value",
                                              "layerscale_value",
                                              "logit_scale",
                                              "logits_scaling",
                                              "max_position_embeddings",
                                              "max_source_positions",
                                              "max_target_positions",
                                              "n_positions",
                                              "num_ln_in_parallel_attn",
                                              "original_max_position_embeddings",
                                              "output_attentions",
                                              "parallel_attn",
                                              "qk_head_dim",
                                              "reorder_and_upcast_attn",
                                              "routed_scaling_factor",
                                              "scale_decoder_outputs",
                                              "scale_embedding",
                                              "use_flash_attn",
                                              "use_mask_token",
                                              "vision_use_head"};
constexpr std::string_view kStartsOfNothing[] = {"classifier", "linear_",      "lm_head",
                                                 "mamba_",     "mask_feature", "mask_time",
                                                 "mask_token", "ssm_"};

bool is_of_attention(std::string_view name) {
  return std::any_of(std::begin(kOfAttention), std::end(kOfAttention), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

bool means_nothing(std::string_view name) {
  return std::find(std::begin(kMeansNothing), std::end(kMeansNothing), name) !=
             std::end(kMeansNothing) ||
         std::any_of(std::begin(kStartsOfNothing), std::end(kStartsOfNothing),
                     [&](std::string_view start) { return name.starts_with(start); });
}

}  // namespace

void ConfigFields::fail(std::string_view field, std::string_view allowed) const {
  throw FileError(fmt::format("{}: '{}' is not {}; correct the file or move it away",
                              shown_path(path_), field, allowed));
}

const json* ConfigFields::find(std::string_view name) const {
  read_.emplace(name);
  const auto place = fields_.find(name);
  if (place != fields_.end()) return place->is_null() ? nullptr : &*place;
  return of_class_ == nullptr ? nullptr : find_in(*of_class_, name);
}

const json* ConfigFields::given(std::string_view name) const {
  read_.emplace(name);
  return find_in(fields_, name);
}

void ConfigFields::pass_over(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) read_.emplace(name);
}

bool ConfigFields::belongs(std::string_view name) const {
  return of_class_ == nullptr || of_class_->contains(name);
}

std::vector<std::string> ConfigFields::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : fields_.items()) {
    // The other fields of the class are read where they say something of the layer.
    const bool known = read_.contains(name) || (of_class_ != nullptr && of_class_->contains(name));
    if (!value.is_null() && !known && is_of_attention(name) && !means_nothing(name)) {
      names.push_back(name);
    }
  }
  return names;
}

const json* ConfigFields::find_in(const json& object, std::string_view name) {
  const auto place = object.find(name);
  return place == object.end() || place->is_null() ? nullptr : &*place;
}

const json* ConfigFields::of_layer(std::string_view name) const {
  const json* list = find(name);
  if (list == nullptr || !list->is_array() || !layer_.number) return nullptr;
  const auto place = static_cast<std::size_t>(*layer_.number);
  return place < list->size() ? &list->at(place) : nullptr;
}

bool ConfigFields::is_true(std::string_view name) const {
  const json* value = find(name);
  return value != nullptr && *value == true;
}

bool ConfigFields::is_false(std::string_view name) const {
  const json* value = find(name);
  return value != nullptr && *value == false;
}

std::optional<std::int64_t> ConfigFields::whole(
    std::initializer_list<std::string_view> names) const {
  pass_over(names);
  // What a file says comes before what its class has for it under another name.
  const auto given = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
    return find_in(fields_, name) != nullptr;
  });
  for (auto name = given == names.end() ? names.begin() : given; name != names.end(); ++name) {
    const json* value = find(*name);
    if (value == nullptr) continue;
    const bool fits = value->is_number_unsigned() && value->get<std::uint64_t>() > 0 &&
                      value->get<std::uint64_t>() <= kMost;
    if (!fits) fail(*name, fmt::format("a whole number from 1 to {}", kMost));
    return value->get<std::int64_t>();
  }
  return std::nullopt;
}

std::optional<std::int64_t> ConfigFields::count(std::string_view name) const {
  const json* value = find(name);
  return value != nullptr && *value == 0 ? std::optional<std::int64_t>(0) : whole({name});
}

std::int64_t ConfigFields::required(std::string_view name, std::string_view why) const {
  const auto value = whole({name});
  if (!value) fail(name, fmt::format("there, which {}", why));
  return *value;
}

double ConfigFields::positive(const json& value, std::string_view name) const {
  if (!value.is_number() || !(value.get<double>() > 0)) fail(name, "a number above 0");
  return value.get<double>();
}

std::optional<double> ConfigFields::number(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return positive(*value, name);
}

}  // namespace headroom::weights
