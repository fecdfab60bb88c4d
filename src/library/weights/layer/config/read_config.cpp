#include "weights/layer/config/read_config.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "weights/layer/config/config_parts.hpp"

namespace headroom::weights {

namespace {

using nlohmann::json;

constexpr std::int64_t kMaxBytes = std::int64_t{4} << 20;
constexpr std::int64_t kUsualPattern = 6;  // of Gemma 3

// A field that has to have a certain value, or none at all.
struct Harmless {
  std::string_view field;
  std::function<bool(const json&)> is_harmless;
};

bool is_false(const json& value) { return value == false; }
bool is_true(const json& value) { return value == true; }
bool never(const json&) { return false; }

const std::initializer_list<Harmless>& harmless_values() {
  static const std::initializer_list<Harmless> fields{
      {"rotary_dim", never},
      {"scale_attn_weights", is_true},
      {"scale_attn_by_inverse_layer_idx", is_false},
      {"position_embedding_type",
       [](const json& value) { return value == "absolute" || value == "rope"; }},
  };
  return fields;
}

class Reader {
 public:
  Reader(ConfigFields fields, ModelConfig& config)
      : fields_(std::move(fields)), config_(config), reading_{fields_, config} {}

  void read() {
    config_.heads = fields_.whole(
        {"num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"});
    config_.kv_heads = fields_.whole({"num_key_value_heads"});
    config_.head_dim = fields_.whole({"head_dim", "d_kv"});
    config_.width = fields_.whole({"hidden_size", "n_embd", "d_model"});
    read_family();
    if (fields_.find("attention_bias") != nullptr) {
      rules_.qkv_bias = fields_.is_true("attention_bias");
    }
    read_groups(reading_);
    read_window();
    read_norm();
    if (family_.latent) {
      read_latent(reading_);
    } else {
      read_rotary(reading_);
    }
    read_scores();
    read_position_bias(reading_);
    for (const Harmless& field : harmless_values()) {
      const json* value = fields_.find(field.field);
      if (value != nullptr && !field.is_harmless(*value)) reading_.add_foreign(field.field, *value);
    }
  }

 private:
  void read_family() {
    const json* type = fields_.find("model_type");
    if (type == nullptr) return;
    if (!type->is_string()) fields_.fail("model_type", "text");
    config_.family = type->get<std::string>();
    if (const Family* known = find_family(config_.family)) {
      family_ = *known;
      config_.masks_by_name = family_.masks_by_name;
      if (!family_.masks_by_name) config_.causal = family_.causal;
      config_.turns = family_.turns;
      rules_.sinks = family_.sinks;
      rules_.qkv_bias = family_.qkv_bias;
      rules_.gate = family_.gate;
      rules_.scale = family_.scale;
      if (!family_.foreign.empty()) config_.foreign.emplace_back(family_.foreign);
      if (!family_.causal && fields_.is_true("is_decoder")) config_.causal = true;
    }
  }

  // What `layer_types` says of this layer; empty where it says nothing.
  std::string_view layer_type() const {
    const json* type = fields_.of_layer("layer_types");
    if (type == nullptr || !type->is_string()) return {};
    return type->get_ref<const std::string&>();
  }

  // Whether this layer is one of those with a window, where the layers differ.
  bool has_window() const {
    if (fields_.is_false("use_sliding_window")) return false;
    if (const std::string_view type = layer_type(); !type.empty()) {
      return type == "sliding_attention";
    }
    const std::int64_t layer = fields_.layer().value_or(0);
    switch (family_.windows) {
      case FamilyWindows::all:
        return true;
      case FamilyWindows::even:
        return layer % 2 == 0;
      case FamilyWindows::by_pattern:
        return (layer + 1) % fields_.whole({"sliding_window_pattern", "_sliding_window_pattern"})
                                 .value_or(kUsualPattern) !=
               0;
      case FamilyWindows::by_global:
        return layer % fields_.whole({"global_attn_every_n_layers"}).value_or(1) != 0;
    }
    return true;
  }

  bool has_chunks() const {
    const std::string_view type = layer_type();
    return type.empty() ? family_.chunks && !has_no_rotary(reading_) : type == "chunked_attention";
  }

  void read_window() {
    reading_.slides = has_window();
    if (reading_.slides) config_.window = fields_.whole({"sliding_window"});
    // So many keys on both sides together, and the row's own.
    const auto both = fields_.whole({"local_attention"});
    if (reading_.slides && both) config_.window = *both / 2 + 1;
    if (has_chunks()) {
      rules_.chunk = fields_.whole({"attention_chunk_size"}).value_or(0);
    }
  }

  void read_norm() {
    const bool used = fields_.is_true("use_qk_norm");
    QueryKeyNorm& norm = rules_.norm;
    using Over = QueryKeyNorm::Over;
    switch (family_.norm) {
      case FamilyNorm::none:
        return;
      case FamilyNorm::heads:
      case FamilyNorm::heads_plus_one:
        norm.over = Over::head;
        break;
      case FamilyNorm::heads_if_asked:
        norm.over = used ? Over::head : Over::none;
        break;
      case FamilyNorm::width:
        norm.over = Over::width;
        break;
      case FamilyNorm::after_rotary:
        norm.over = used ? Over::head : Over::none;
        norm.weighted = false;
        norm.after_rotary = true;
        break;
    }
    config_.norm_plus_one = family_.norm == FamilyNorm::heads_plus_one;
    norm.epsilon = fields_.number("rms_norm_eps").value_or(norm.epsilon);
  }

  void read_scores() {
    if (const auto scalar = fields_.number("query_pre_attn_scalar")) {
      rules_.scale = 1 / std::sqrt(*scalar);
    }
    rules_.scale = fields_.number("attention_multiplier").value_or(rules_.scale);
    rules_.clip = fields_.number("clip_qkv").value_or(0);
    rules_.softcap = fields_.number("attn_logit_softcapping").value_or(0);
  }

  const ConfigFields fields_;
  ModelConfig& config_;
  LayerConfig& rules_ = config_.rules;
  ConfigReading reading_;
  Family& family_ = reading_.family;
};

}  // namespace

ModelConfig read_config_file(const std::filesystem::path& path, std::optional<std::int64_t> layer) {
  const json fields = json::parse(read_regular_file(path, kMaxBytes), nullptr, false);
  if (!fields.is_object()) {
    throw FileError(fmt::format("{}: it is no JSON object; correct the file or move it away",
                                shown_path(path)));
  }
  return read_config_fields(path, fields, layer);
}

ModelConfig read_config_fields(const std::filesystem::path& path, const json& fields,
                               std::optional<std::int64_t> layer) {
  // What reads pictures as well has its own fields beside those of its decoder.
  const auto text = fields.find("text_config");
  const bool nested =
      text != fields.end() && text->is_object() && !fields.contains("num_attention_heads");
  ModelConfig config;
  config.path = path;
  Reader(ConfigFields(path, nested ? *text : fields, layer), config).read();
  return config;
}

std::optional<ModelConfig> read_config(const std::filesystem::path& folder,
                                       std::optional<std::int64_t> layer) {
  const std::filesystem::path path = folder / "config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return read_config_file(path, layer);
}

}  // namespace headroom::weights
