#include "weights/layer/gguf/gguf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "weights/layer/config/read_config.hpp"
#include "weights/layer/gguf/gguf_architectures.hpp"
#include "weights/layer/gguf/gguf_fields.hpp"
#include "weights/layer/layouts.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kMostFactors = std::int64_t{1} << 16;
constexpr double kAlibiBias = 8;  // the slopes of ALiBi's paper; files say it of MPT

// Keys below `attention.` and `rope.` that are understood, or change nothing between the products.
constexpr std::string_view kUnderstood[] = {"attention.head_count",
                                            "attention.head_count_kv",
                                            "attention.key_length",
                                            "attention.value_length",
                                            "attention.layer_norm_epsilon",
                                            "attention.layer_norm_rms_epsilon",
                                            "attention.causal",
                                            "attention.scale",
                                            "attention.clamp_kqv",
                                            "attention.max_alibi_bias",
                                            "attention.sliding_window",
                                            "attention.sliding_window_pattern",
                                            "attn_logit_softcapping",
                                            "rope.dimension_count",
                                            "rope.freq_base",
                                            "rope.freq_base_swa",
                                            "rope.scaling.type",
                                            "rope.scaling.factor",
                                            "rope.scaling.original_context_length",
                                            "rope.scaling.finetuned",
                                            "rope.scaling.attn_factor",
                                            "rope.scaling.yarn_beta_fast",
                                            "rope.scaling.yarn_beta_slow"};

// Turns metadata into the fields that a config.json would have, and reads those.
class GgufReader {
 public:
  GgufReader(TensorSet& set, std::optional<std::int64_t> layer)
      : set_(set),
        given_(set.path(), *set.metadata(), layer),
        layer_(layer),
        known_(find_gguf_architecture(given_.architecture())) {}

  ModelConfig read() {
    if (known_ == nullptr) return unknown();
    for (const std::string_view key : known_->required) {
      if (!key.empty() && given_.find(key) == nullptr) {
        given_.fail(key, "there, and its layers need it");
      }
    }
    if (layer_ && *layer_ >= kMostLayers) {
      throw FileError(fmt::format("{}: it has a layer {}; allowed are numbers below {}",
                                  shown_path(set_.path()), *layer_, kMostLayers));
    }
    fields_["model_type"] = known_->family;
    read_heads();
    read_window();
    read_scores();
    read_rotary();
    ModelConfig config = read_stated_fields(set_.path(), fields_, {.number = layer_});
    correct(config);
    return config;
  }

 private:
  ModelConfig unknown() const {
    ModelConfig config;
    config.path = set_.path();
    config.foreign.push_back(fmt::format("general.architecture is '{}' (known are {})",
                                         shown_name(given_.architecture()),
                                         gguf_architecture_words()));
    return config;
  }

  void put(const char* field, std::optional<double> value) {
    if (value) fields_[field] = *value;
  }
  // As parsers give numbers without a sign.
  void put(const char* field, std::optional<std::int64_t> value) {
    if (value) fields_[field] = static_cast<std::uint64_t>(*value);
  }

  void add_foreign(std::string_view key, const json& value) {
    const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    foreign_.push_back(fmt::format("{} is {}", given_.shown(key), shown_name(text)));
  }

  void read_heads() {
    const auto width = given_.whole("embedding_length");
    const auto heads = given_.whole("attention.head_count");
    const auto kv_heads = given_.whole("attention.head_count_kv");
    head_dim_ = given_.whole("attention.key_length");
    const auto value_dim = given_.whole("attention.value_length");
    if (!head_dim_ && width && heads) head_dim_ = std::max<std::int64_t>(*width / *heads, 1);
    if (value_dim && head_dim_ && *value_dim != *head_dim_) {
      add_foreign("attention.value_length", *value_dim);
    }
    put("hidden_size", width);
    put("num_attention_heads", heads);
    put("num_key_value_heads", kv_heads);
    put("head_dim", head_dim_);
    // Falcon's fields for the same.
    fields_["new_decoder_architecture"] = true;
    put("num_kv_heads", kv_heads);
    put("rms_norm_eps", given_.number("attention.layer_norm_rms_epsilon"));
    const std::string prefix = layer_prefix();
    if (known_->family == "glm4_moe" && !prefix.empty()) {
      fields_["use_qk_norm"] = set_.has(prefix + std::string(kGgufQueryNorm));
    }
  }

  std::string layer_prefix() const {
    return layer_ ? fmt::format("blk.{}.", *layer_) : std::string();
  }

  // Whether this layer has the window that the file speaks of.
  bool slides() const {
    constexpr std::string_view kPattern = "attention.sliding_window_pattern";
    const json* pattern = given_.find(kPattern);
    std::int64_t period = known_->period;
    if (pattern != nullptr && pattern->is_array()) return *given_.truth(kPattern);
    if (pattern != nullptr) period = *given_.whole(kPattern, 0);
    return period == 0 || layer_.value_or(0) % period < period - 1;
  }

  void read_window() {
    const auto window = given_.whole("attention.sliding_window", 0);
    if (!window || *window == 0) {
      fields_["use_sliding_window"] = false;
      return;
    }
    json types(static_cast<std::size_t>(layer_.value_or(0) + 1), nullptr);
    types.back() = slides() ? "sliding_attention" : "full_attention";
    fields_["layer_types"] = std::move(types);
    put("sliding_window", window);
  }

  void read_scores() {
    put("attn_logit_softcapping", given_.number("attn_logit_softcapping"));
    put("clip_qkv", given_.number_or_zero("attention.clamp_kqv"));
    put("attention_multiplier", given_.number_or_zero("attention.scale"));
    const bool is_wide =
        known_->wide_blocks > 0 && given_.whole("block_count") == known_->wide_blocks;
    if (is_wide && fields_.contains("hidden_size") && fields_.contains("num_attention_heads")) {
      fields_["query_pre_attn_scalar"] = fields_["hidden_size"].get<std::int64_t>() /
                                         fields_["num_attention_heads"].get<std::int64_t>();
    }
    const json* bias = given_.find("attention.max_alibi_bias");
    const bool biased = known_->family == "mpt";
    if (bias != nullptr && *bias != (biased ? kAlibiBias : 0)) {
      add_foreign("attention.max_alibi_bias", *bias);
    }
  }

  void read_rotary() {
    if (known_->pairs == Rotary::Pairs::none) return;
    put("rope_theta", given_.number("rope.freq_base"));
    put("max_position_embeddings", given_.number("context_length"));
    const auto local = given_.number("rope.freq_base_swa");
    if (known_->local_base > 0) {
      fields_["rope_local_base_freq"] = local.value_or(known_->local_base);
    } else if (local && local != given_.number("rope.freq_base")) {
      add_foreign("rope.freq_base_swa", *local);
    }
    const auto turned = given_.whole("rope.dimension_count");
    if (turned && head_dim_ && (*turned > *head_dim_ || *turned < 2)) {
      given_.fail("rope.dimension_count",
                  fmt::format("a number from 2 to the {} values of a head", *head_dim_));
    }
    // A share of the head that gives this number when it is rounded down.
    fields_["partial_rotary_factor"] = 1;
    if (turned && head_dim_ && *turned < *head_dim_) {
      fields_["partial_rotary_factor"] =
          (static_cast<double>(*turned) + 0.5) / static_cast<double>(*head_dim_);
    }
    read_scaling();
  }

  void read_scaling() {
    const json* type = given_.find("rope.scaling.type");
    // As llama.cpp has it: a factor alone is that of a linear scaling.
    static const json linear = "linear";
    if (type == nullptr && given_.number_or_zero("rope.scaling.factor").value_or(0) != 0) {
      type = &linear;
    }
    if (type == nullptr || *type == "none") return;
    if (*type == "longrope") return;  // its factors are tensors
    if (*type == "linear") {
      fields_["rope_scaling"] = {{"rope_type", "linear"}, {"factor", required_factor()}};
      return;
    }
    // What converters write beside YaRN's own amplitude differs from one to the next.
    const json* amplitude = given_.find("rope.scaling.attn_factor");
    if (*type != "yarn" || (amplitude != nullptr && *amplitude != 1)) {
      add_foreign(*type == "yarn" ? "rope.scaling.attn_factor" : "rope.scaling.type",
                  *type == "yarn" ? *amplitude : *type);
      return;
    }
    json scaling{{"rope_type", "yarn"}, {"factor", required_factor()}};
    const auto add = [&](const char* field, std::string_view key) {
      if (const auto value = given_.number(key)) scaling[field] = *value;
    };
    add("original_max_position_embeddings", "rope.scaling.original_context_length");
    add("beta_fast", "rope.scaling.yarn_beta_fast");
    add("beta_slow", "rope.scaling.yarn_beta_slow");
    if (!known_->rounds_yarn) scaling["truncate"] = false;
    fields_["rope_scaling"] = std::move(scaling);
  }

  double required_factor() const {
    const auto factor = given_.number("rope.scaling.factor");
    if (!factor) given_.fail("rope.scaling.factor", "there, which its scaling needs");
    return *factor;
  }

  // What files of models for transformers have in another way.
  void correct(ModelConfig& config) {
    config.family = given_.architecture();
    config.qkv_groups = 1;         // converters put all queries first, then all keys
    config.norm_plus_one = false;  // and add the one
    config.rules.rotary.pairs = known_->pairs;
    if (const auto causal = given_.truth("attention.causal")) config.causal = causal;
    take_factors(config.rules.rotary);
    refuse_unknown_keys();
    config.foreign.insert(config.foreign.end(), foreign_.begin(), foreign_.end());
  }

  void refuse_unknown_keys() {
    const std::string own = given_.architecture() + ".";
    for (const auto& [key, value] : set_.metadata()->items()) {
      if (!key.starts_with(own)) continue;
      const std::string_view rest = std::string_view(key).substr(own.size());
      const bool matters =
          rest.starts_with("attention.") || rest.starts_with("attn_") || rest.starts_with("rope.");
      const bool understood =
          std::find(std::begin(kUnderstood), std::end(kUnderstood), rest) != std::end(kUnderstood);
      if (matters && !understood) add_foreign(rest, value);
    }
  }

  // Llama 3 and Phi 3 keep a divisor for each pair as a tensor; Phi 3 has two sets, the second for
  // long contexts, where the model has them.
  void take_factors(Rotary& rotary) {
    constexpr std::string_view kAll = "rope_freqs.weight", kLong = "rope_factors_long.weight",
                               kShort = "rope_factors_short.weight";
    const auto context = given_.number("context_length");
    const auto original = given_.number("rope.scaling.original_context_length");
    const bool stretched = context && original && *context > *original;
    const bool both = stretched && set_.has(kLong) && set_.has(kShort);
    const std::string_view name = set_.has(kAll) ? kAll : stretched && !both ? kLong : kShort;
    if (!set_.has(name)) return;
    if (!rotary.divisors.empty() || rotary.scale != 1) {
      foreign_.push_back(fmt::format("'{}' is given beside rope.scaling.type", name));
      return;
    }
    rotary.divisors = read_factors(name);
    if (both && name == kShort) {
      rotary.long_divisors = read_factors(kLong);
      rotary.context = static_cast<std::int64_t>(*original);
    }
    rotary.amplitude = given_.number("rope.scaling.attn_factor").value_or(1);
  }

  std::vector<double> read_factors(std::string_view name) const {
    const StoredTensor stored = set_.find(name);
    const Tensor& tensor = stored.tensor;
    const std::int64_t count = tensor.dims.size() == 1 ? tensor.dims[0] : 0;
    if (!tensor.type || count < 1 || count > kMostFactors) {
      stored.fail(fmt::format("it is {} of shape {}", tensor.dtype, shown_dims(tensor.dims)),
                  "a list of numbers is expected");
    }
    std::vector<char> bytes(static_cast<std::size_t>(tensor.bytes));
    stored.file->read(tensor.offset, bytes);
    std::vector<float> values(static_cast<std::size_t>(count));
    to_floats(*tensor.type, bytes, values);
    const bool all_positive = std::all_of(
        values.begin(), values.end(), [](float value) { return value > 0 && !std::isinf(value); });
    if (!all_positive) stored.fail("one of its values is not above 0", "get the file again");
    return {values.begin(), values.end()};
  }

  TensorSet& set_;
  GgufFields given_;
  std::optional<std::int64_t> layer_;
  const GgufArchitecture* known_;
  std::optional<std::int64_t> head_dim_;
  json fields_ = json::object();
  std::vector<std::string> foreign_;
};

}  // namespace

ModelConfig read_gguf_config(TensorSet& set, std::optional<std::int64_t> layer) {
  return GgufReader(set, layer).read();
}

}  // namespace headroom::weights
