#include "weights/layer/config/read_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "weights/layer/config/class_fields.hpp"
#include "weights/layer/config/config_parts.hpp"

namespace headroom::weights {

namespace {

using nlohmann::json;

constexpr std::int64_t kLayersWithoutEnd = std::int64_t{1} << 31;
constexpr std::int64_t kMaxBytes = std::int64_t{4} << 20;
constexpr std::string_view kSlides = "sliding_attention", kChunked = "chunked_attention",
                           kFull = "full_attention";

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
      {"use_bidirectional_attention", is_false},
      {"qk_layernorm", is_false},
      {"use_qk_norm", is_false},
      {"use_mrope", is_false},
      {"pruned_heads", [](const json& value) { return value.empty(); }},
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
    read_family();
    read_sizes();
    read_biases();
    read_groups(reading_);
    read_window();
    read_mask();
    read_norm();
    if (family_.latent) {
      read_latent(reading_);
    } else {
      read_rotary(reading_);
    }
    read_scores();
    read_position_bias(reading_);
    for (const Harmless& field : harmless_values()) {
      if (fields_.has_read(field.field)) continue;
      const json* value = fields_.find(field.field);
      if (value != nullptr && !field.is_harmless(*value)) reading_.add_foreign(field.field, *value);
    }
  }

  /// @pre `read()`
  void refuse_unread() const {
    for (const std::string& name : fields_.unread()) {
      reading_.add_foreign(name, *fields_.find(name));
    }
  }

 private:
  void read_family() {
    const json* type = fields_.find("model_type");
    if (type != nullptr && !type->is_string()) fields_.fail("model_type", "text");
    config_.family = fields_.layer().family;
    if (config_.family.empty() && type != nullptr) config_.family = type->get<std::string>();
    const Family* known = find_family(config_.family);
    if (known == nullptr) return;
    family_ = *known;
    config_.known = true;
    config_.stacks = family_.stacks;
    config_.turns = family_.rotary != FamilyRotary::none;
    rules_.sinks = family_.sinks;
    rules_.gate = family_.gate;
    rules_.scale = family_.scale;
    if (!family_.foreign.empty()) config_.foreign.emplace_back(family_.foreign);
  }

  // A layer of a decoder may have other heads than one of an encoder.
  void read_sizes() {
    const bool decodes = fields_.layer().name.find("decoder") != std::string::npos;
    config_.heads = fields_.whole({"num_attention_heads", "n_head", "n_heads", "num_heads"});
    const auto of_encoder = fields_.whole({"encoder_attention_heads"});
    const auto of_decoder = fields_.whole({"decoder_attention_heads"});
    if (of_encoder) config_.heads = decodes && of_decoder ? of_decoder : of_encoder;
    config_.kv_heads = fields_.whole({"num_key_value_heads"});
    config_.head_dim = fields_.whole({"head_dim", "d_kv"});
    config_.width = fields_.whole({"hidden_size", "n_embd", "d_model", "dim", "n_embed"});
    if (config_.heads && config_.kv_heads && *config_.heads % *config_.kv_heads != 0) {
      fields_.fail("num_key_value_heads",
                   fmt::format("a divisor of the {} heads of queries", *config_.heads));
    }
  }

  void read_biases() {
    const std::string_view field = config_.known ? family_.bias_field : "attention_bias";
    rules_.qkv_bias = field.empty() ? family_.qkv_bias : fields_.is_true(field);
  }

  // What `layer_types` says of this layer; empty where it says nothing.
  std::string_view layer_type() const {
    if (!fields_.belongs("layer_types")) return {};
    const json* type = fields_.of_layer("layer_types");
    if (type == nullptr || !type->is_string()) return {};
    return type->get_ref<const std::string&>();
  }

  // Whether this layer is one of those with a window, where the layers differ.
  bool has_window() const {
    if (fields_.is_false("use_sliding_window")) return false;
    if (const std::string_view type = layer_type(); !type.empty()) return type == kSlides;
    const std::int64_t layer = fields_.layer().number.value_or(0);
    switch (family_.windows) {
      case FamilyWindows::all:
        return true;
      case FamilyWindows::even:
        return layer % 2 == 0;
      case FamilyWindows::by_pattern:
        return (layer + 1) % pattern() != 0;
      case FamilyWindows::by_global:
        return layer % fields_.whole({"global_attn_every_n_layers"}).value_or(1) != 0;
      case FamilyWindows::upper:
        return layer >= fields_.count("max_window_layers").value_or(0);
    }
    return true;
  }

  // EXAONE's may be text, in which L is a layer with a window.
  std::int64_t pattern() const {
    constexpr std::string_view kName = "sliding_window_pattern";
    const json* given = fields_.find(kName);
    if (given == nullptr || !given->is_string()) {
      return fields_.whole({kName, "_sliding_window_pattern"}).value_or(kLayersWithoutEnd);
    }
    const auto& text = given->get_ref<const std::string&>();
    if (text.empty() || text.find_first_not_of('L') != text.size() - 1 || text.back() != 'G') {
      fields_.fail(kName, "a whole number, or text such as LLLG");
    }
    return static_cast<std::int64_t>(text.size());
  }

  bool has_chunks() const {
    const std::string_view type = layer_type();
    return type.empty() ? family_.chunks && !has_no_rotary(reading_) : type == kChunked;
  }

  void read_window() {
    const std::string_view type = layer_type();
    if (!type.empty() && type != kSlides && type != kChunked && type != kFull) {
      reading_.add_foreign("layer_types", type);
    }
    fields_.pass_over({"max_window_layers", "sliding_window_pattern", "_sliding_window_pattern"});
    const bool can_slide = fields_.belongs("sliding_window");
    const json* window = fields_.find("sliding_window");
    const bool is_off = fields_.is_false("use_sliding_window");
    // A class that has no windows would not look at it.
    if (!can_slide && window != nullptr && !is_off) {
      reading_.add_foreign("sliding_window", *window);
    }
    reading_.has_windows = can_slide && window != nullptr && !is_off;
    reading_.slides = has_window();
    if (reading_.slides && reading_.has_windows) {
      config_.window = fields_.whole({"sliding_window"});
    }
    // So many keys on both sides together, and the row's own.
    const auto both = fields_.whole({"local_attention"});
    if (reading_.slides && both) config_.window = *both / 2 + 1;
    if (has_chunks() && fields_.belongs("attention_chunk_size")) {
      rules_.chunk = fields_.whole({"attention_chunk_size"}).value_or(0);
    }
    fields_.pass_over(
        {"attention_chunk_size", "global_attn_every_n_layers", "full_attention_interval"});
  }

  // Decoders can be told to look both ways, and encoders to be decoders.
  void read_mask() {
    if (config_.known && !family_.stacks) config_.causal = family_.causal;
    if (!family_.causal && !family_.stacks && fields_.is_true("is_decoder")) config_.causal = true;
    const json* causal = fields_.find("is_causal");
    if (causal != nullptr && !causal->is_boolean()) fields_.fail("is_causal", "true or false");
    if (causal != nullptr && config_.causal && *causal != *config_.causal) {
      if (!family_.causal) return reading_.add_foreign("is_causal", *causal);
      config_.causal = false;
      // Both ends of such a window count.
      if (config_.window) config_.window = *config_.window + 1;
    }
    if (config_.family == "gemma3_text" && fields_.is_true("use_bidirectional_attention")) {
      config_.causal = false;
      if (config_.window) config_.window = *config_.window / 2 + 1;
    }
  }

  void read_norm() {
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
        norm.over = fields_.is_true("use_qk_norm") ? Over::head : Over::none;
        break;
      case FamilyNorm::width:
        norm.over = Over::width;
        break;
      case FamilyNorm::after_rotary:
        norm.over = fields_.is_true("use_qk_norm") ? Over::head : Over::none;
        norm.weighted = false;
        norm.after_rotary = true;
        break;
      case FamilyNorm::weighted_after_rotary:
        norm.over = Over::head;
        norm.after_rotary = true;
        break;
    }
    config_.norm_plus_one = family_.norm == FamilyNorm::heads_plus_one;
    norm.epsilon = fields_.number("rms_norm_eps").value_or(norm.epsilon);
  }

  // A field that the family's class has, or one of a file without a family.
  std::optional<double> own_number(std::string_view name) const {
    return fields_.belongs(name) ? fields_.number(name) : std::nullopt;
  }

  void read_scores() {
    if (const auto scalar = own_number("query_pre_attn_scalar")) {
      rules_.scale = 1 / std::sqrt(*scalar);
    }
    rules_.scale = own_number("attention_multiplier").value_or(rules_.scale);
    const auto keys = own_number("key_multiplier");  // Falcon-H1
    if (keys && *keys != 1) {
      const auto head_dim = config_.head_width();
      if (!head_dim) fields_.fail("head_dim", "there, which key_multiplier needs");
      rules_.scale = *keys / std::sqrt(static_cast<double>(*head_dim));
    }
    rules_.clip = own_number("clip_qkv").value_or(0);
    rules_.softcap = own_number("attn_logit_softcapping").value_or(0);
  }

  ConfigFields fields_;
  ModelConfig& config_;
  LayerConfig& rules_ = config_.rules;
  ConfigReading reading_;
  Family& family_ = reading_.family;
};

// The key of a nested configuration of language, in the order in which models have them.
constexpr std::string_view kLanguage[] = {"text_config", "llm_config", "language_config",
                                          "thinker_config"};

// Models of several parts whose language, pictures and sound are computed as their parts alone.
constexpr std::string_view kComposites[] = {
    "clip",       "siglip",   "gemma3",       "internvl",        "internvl_chat",
    "llama4",     "llava",    "llava_next",   "mistral3",        "qwen2_vl",
    "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "llava_onevision", "llava_next_video"};

bool is_composite(std::string_view family) {
  return std::find(std::begin(kComposites), std::end(kComposites), family) != std::end(kComposites);
}

// The part of a model that a layer is of, as the names of its tensors say.
std::string_view part_of(std::string_view name) {
  if (name.find("visi") != name.npos || name.find("visual") != name.npos) return "vision_config";
  if (name.find("audio") != name.npos) return "audio_config";
  return "text_config";
}

const json* nested_in(const json& fields, std::string_view part) {
  if (part != kLanguage[0]) {
    const auto found = fields.find(part);
    return found != fields.end() && found->is_object() ? &*found : nullptr;
  }
  for (const std::string_view key : kLanguage) {
    const auto found = fields.find(key);
    if (found == fields.end() || !found->is_object()) continue;
    const json* deeper = nested_in(*found, kLanguage[0]);
    return deeper != nullptr ? deeper : &*found;
  }
  return nullptr;
}

std::string text_in(const json& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What a parser says, in the words of whoever edits the file.
[[noreturn]] void fail_at(const std::filesystem::path& path, const std::string& text,
                          std::size_t byte) {
  const std::size_t place = std::min(byte > 0 ? byte - 1 : 0, text.size());
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
  const std::size_t before = place == 0 ? std::string::npos : text.rfind('\n', place - 1);
  const std::size_t start = before == std::string::npos ? 0 : before + 1;
  // The text there, with a little of what comes before.
  const std::size_t shown = std::max(start, place - std::min<std::size_t>(place, 20));
  const std::size_t end = std::min({text.find('\n', shown), text.size(), shown + 60});
  throw FileError(fmt::format(
      "{}: it is no JSON from line {}, column {} on, near '{}'; correct "
      "the file or move it away",
      shown_path(path), line, place - start + 1, shown_text(text.substr(shown, end - shown))));
}

ModelConfig read_fields(const std::filesystem::path& path, const json& fields, ConfigLayer layer,
                        bool is_of_class) {
  ModelConfig config;
  config.path = path;
  const std::string_view part = part_of(layer.name);
  const std::string parent = text_in(fields, "model_type");
  const json* nested = nested_in(fields, part);
  const json& own = nested != nullptr ? *nested : fields;
  std::string family = layer.family.empty() ? text_in(own, "model_type") : layer.family;
  if (nested != nullptr && layer.family.empty() && !parent.empty()) {
    // Such a model may mask its parts in a way of its own, or leave their names out.
    if (!is_composite(parent)) {
      family = parent;
    } else if (family.empty()) {
      family = fmt::format("{} of {}", part, parent);
    }
    layer.family = family;
  }
  if (nested == nullptr && part != kLanguage[0] && nested_in(fields, kLanguage[0]) != nullptr &&
      layer.family.empty()) {
    layer.family = fmt::format("{} of {}", part, parent);
  }
  ConfigFields own_fields(path, own, layer);
  if (is_of_class) own_fields.use_class(find_class_fields(family));
  Reader reader(std::move(own_fields), config);
  reader.read();
  // Of an unknown family all of them are unread, and that is said of the family.
  if (is_of_class && (config.known || config.family.empty())) reader.refuse_unread();
  return config;
}

}  // namespace

ModelConfig read_config_file(const std::filesystem::path& path, const ConfigLayer& layer) {
  const std::string text = read_regular_file(path, kMaxBytes);
  json fields;
  try {
    fields = json::parse(text);
  } catch (const json::parse_error& error) {
    fail_at(path, text, error.byte);
  }
  if (!fields.is_object()) {
    throw FileError(fmt::format("{}: it is no JSON object; correct the file or move it away",
                                shown_path(path)));
  }
  return read_config_fields(path, fields, layer);
}

ModelConfig read_config_fields(const std::filesystem::path& path, const json& fields,
                               const ConfigLayer& layer) {
  return read_fields(path, fields, layer, true);
}

ModelConfig read_stated_fields(const std::filesystem::path& path, const json& fields,
                               const ConfigLayer& layer) {
  return read_fields(path, fields, layer, false);
}

std::optional<ModelConfig> read_config(const std::filesystem::path& folder,
                                       const ConfigLayer& layer) {
  const std::filesystem::path path = folder / "config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return read_config_file(path, layer);
}

}  // namespace headroom::weights
