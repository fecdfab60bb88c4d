#include "weights/layer/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "weights/layer/families.hpp"
#include "weights/layer/rope_scaling.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMostHeads = std::int64_t{1} << 31;
constexpr std::int64_t kUsualPattern = 6;  // of Gemma 3
constexpr double kUsualStep = 8192;        // of Llama 4, as is the next
constexpr double kUsualGrowth = 0.1;
constexpr std::int64_t kUsualBuckets = 32;  // of T5, as is the next
constexpr std::int64_t kUsualFarthest = 128;

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
  Reader(std::filesystem::path path, const json& fields, std::optional<std::int64_t> layer)
      : fields_(fields), layer_(layer) {
    config_.path = std::move(path);
  }

  ModelConfig read() {
    config_.heads =
        whole({"num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"});
    config_.kv_heads = whole({"num_key_value_heads"});
    config_.head_dim = whole({"head_dim", "d_kv"});
    config_.width = whole({"hidden_size", "n_embd", "d_model"});
    read_family();
    if (const json* bias = find("attention_bias")) rules_.qkv_bias = *bias == true;
    read_groups();
    read_window();
    read_norm();
    if (family_.latent) {
      read_latent();
    } else {
      read_rotary();
    }
    read_scores();
    read_position_bias();
    for (const Harmless& field : harmless_values()) {
      const json* value = find(field.field);
      if (value != nullptr && !field.is_harmless(*value)) add_foreign(field.field, *value);
    }
    return std::move(config_);
  }

 private:
  // Fields that are null are as good as missing.
  const json* find(std::string_view name) const { return find_in(fields_, name); }
  static const json* find_in(const json& object, std::string_view name) {
    const auto place = object.find(name);
    return place == object.end() || place->is_null() ? nullptr : &*place;
  }

  [[noreturn]] void fail(std::string_view field, std::string_view allowed) const {
    throw FileError(fmt::format("{}: '{}' is not {}; correct the file or move it away",
                                shown_path(config_.path), field, allowed));
  }

  static std::string shown(const json& value) {
    const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    return text.size() > 60 ? text.substr(0, 60) + "..." : text;
  }

  void add_foreign(std::string_view field, const json& value) {
    config_.foreign.push_back(fmt::format("{} is {}", field, shown(value)));
  }

  std::optional<std::int64_t> whole(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const json* value = find(name);
      if (value == nullptr) continue;
      const bool fits = value->is_number_unsigned() && value->get<std::uint64_t>() > 0 &&
                        value->get<std::uint64_t>() <= kMostHeads;
      if (!fits) fail(name, fmt::format("a whole number from 1 to {}", kMostHeads));
      return value->get<std::int64_t>();
    }
    return std::nullopt;
  }

  double positive(const json& value, std::string_view name) const {
    if (!value.is_number() || !(value.get<double>() > 0)) fail(name, "a number above 0");
    return value.get<double>();
  }

  void read_family() {
    const json* type = find("model_type");
    if (type == nullptr) return;
    if (!type->is_string()) fail("model_type", "text");
    config_.family = type->get<std::string>();
    if (const Family* known = find_family(config_.family)) {
      family_ = *known;
      config_.masks_by_name = family_.masks_by_name;
      if (!family_.masks_by_name) config_.causal = family_.causal;
      config_.turns = family_.turns;
      rules_.sinks = family_.sinks;
      rules_.qkv_bias = family_.qkv_bias;
      if (!family_.foreign.empty()) config_.foreign.emplace_back(family_.foreign);
      const json* decoder = find("is_decoder");
      if (!family_.causal && decoder != nullptr && *decoder == true) config_.causal = true;
    }
  }

  // What `layer_types` says of this layer; empty where it says nothing.
  std::string_view layer_type() const {
    const json* types = find("layer_types");
    if (types == nullptr || !types->is_array() || !layer_) return {};
    const auto place = static_cast<std::size_t>(*layer_);
    if (place >= types->size() || !types->at(place).is_string()) return {};
    return types->at(place).get_ref<const std::string&>();
  }

  // Whether this layer is one of those with a window, where the layers differ.
  bool has_window() const {
    const json* use = find("use_sliding_window");
    if (use != nullptr && *use == false) return false;
    if (const std::string_view type = layer_type(); !type.empty()) {
      return type == "sliding_attention";
    }
    const std::int64_t layer = layer_.value_or(0);
    switch (family_.windows) {
      case FamilyWindows::all:
        return true;
      case FamilyWindows::even:
        return layer % 2 == 0;
      case FamilyWindows::by_pattern:
        return (layer + 1) % whole({"sliding_window_pattern", "_sliding_window_pattern"})
                                 .value_or(kUsualPattern) !=
               0;
      case FamilyWindows::by_global:
        return layer % whole({"global_attn_every_n_layers"}).value_or(1) != 0;
    }
    return true;
  }

  void read_window() {
    slides_ = has_window();
    if (slides_) config_.window = whole({"sliding_window"});
    // So many keys on both sides together, and the row's own.
    const auto both = whole({"local_attention"});
    if (slides_ && both) config_.window = *both / 2 + 1;
    if (layer_type() == "chunked_attention") {
      rules_.chunk = whole({"attention_chunk_size"}).value_or(0);
    }
  }

  void read_norm() {
    const json* asked = find("use_qk_norm");
    const bool used = asked != nullptr && *asked == true;
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
    const json* epsilon = find("rms_norm_eps");
    if (epsilon != nullptr) norm.epsilon = positive(*epsilon, "rms_norm_eps");
  }

  std::int64_t required(std::string_view name) const {
    const auto value = whole({name});
    if (!value) fail(name, "there, which a latent layer needs");
    return *value;
  }

  // DeepSeek's: a head's own values of queries and keys, then those that turn, which keys share.
  // The latents' norms have their class's epsilon, whatever the file says.
  void read_latent() {
    rules_.latent.rank = required("kv_lora_rank");
    rules_.latent.query_rank = whole({"q_lora_rank"}).value_or(0);
    rules_.latent.shared = required("qk_rope_head_dim");
    rules_.value_dim = required("v_head_dim");
    rules_.rotary.pairs = Rotary::Pairs::neighbours;
    const json* neighbours = find("rope_interleave");
    if (neighbours != nullptr && *neighbours == false) rules_.rotary.pairs = Rotary::Pairs::halves;
    config_.head_dim = rules_.latent.shared;  // of which all turns
    read_rotary();
    config_.head_dim = required("qk_nope_head_dim") + rules_.latent.shared;
    if (rules_.value_dim == *config_.head_dim) rules_.value_dim = 0;
    if (rules_.qkv_bias) add_foreign("attention_bias", true);
  }

  // Scores grow with the stretch of YaRN by a multiplier of their own.
  void read_latent_scale() {
    if (!family_.latent) return;
    const json* parameters = rope_parameters();
    const json* scaling = parameters != nullptr ? parameters : find("rope_scaling");
    if (scaling == nullptr || !scaling->is_object()) return;
    const json* multiplier = find_in(*scaling, "mscale_all_dim");
    const json* factor = find_in(*scaling, "factor");
    const json* type = find_in(*scaling, "rope_type");
    if (type == nullptr) type = find_in(*scaling, "type");
    if (type == nullptr || *type == "default") return;
    if (multiplier == nullptr || factor == nullptr || *multiplier == 0) return;
    const double grown = yarn_growth(positive(*factor, "rope_scaling.factor"),
                                     positive(*multiplier, "rope_scaling.mscale_all_dim"));
    rules_.scale = grown * grown / std::sqrt(static_cast<double>(*config_.head_dim));
  }

  void read_scores() {
    rules_.scale = family_.scale;
    read_latent_scale();
    const json* scalar = find("query_pre_attn_scalar");
    if (scalar != nullptr) rules_.scale = 1 / std::sqrt(positive(*scalar, "query_pre_attn_scalar"));
    const json* multiplier = find("attention_multiplier");
    if (multiplier != nullptr) rules_.scale = positive(*multiplier, "attention_multiplier");
    const json* clip = find("clip_qkv");
    if (clip != nullptr) rules_.clip = positive(*clip, "clip_qkv");
    const json* cap = find("attn_logit_softcapping");
    if (cap != nullptr) rules_.softcap = positive(*cap, "attn_logit_softcapping");
  }

  // Whether this layer is one of those without positions, where the layers differ.
  bool has_no_rotary() const {
    const json* layers = find("no_rope_layers");  // 1 where a layer has rotary positions
    if (layers == nullptr || !layers->is_array() || !layer_) return false;
    const auto place = static_cast<std::size_t>(*layer_);
    return place < layers->size() && layers->at(place) == 0;
  }

  // Newer files have one object for what older ones have in two fields, or one for each kind of
  // layer.
  const json* rope_parameters() const {
    const json* parameters = find("rope_parameters");
    if (parameters == nullptr) return nullptr;
    if (!parameters->is_object()) fail("rope_parameters", "an object");
    const json* of_kind = find_in(*parameters, slides_ ? "sliding_attention" : "full_attention");
    return of_kind != nullptr ? of_kind : parameters;
  }

  // Of older files whose kinds of layers have each its own.
  const json* base_of_kind() const {
    if (!slides_) return find("global_rope_theta");
    const json* base = find("rope_local_base_freq");
    return base != nullptr ? base : find("local_rope_theta");
  }

  void read_rotary() {
    if (has_no_rotary()) {
      config_.turns = false;
      if (rules_.norm.after_rotary) rules_.norm = {};
      read_temperature();
      return;
    }
    const json* parameters = rope_parameters();
    if (parameters != nullptr && !parameters->is_object()) fail("rope_parameters", "an object");
    const json* base = parameters != nullptr ? find_in(*parameters, "rope_theta") : nullptr;
    const json* of_kind = base == nullptr ? base_of_kind() : nullptr;
    if (base == nullptr) base = of_kind != nullptr ? of_kind : find("rope_theta");
    if (base != nullptr) {
      rules_.rotary.base = positive(*base, "rope_theta");
      config_.turns = true;
    }
    if (family_.pairs) rules_.rotary.pairs = *family_.pairs;
    const std::int64_t width = read_part(parameters);
    const json* scaling = parameters != nullptr ? parameters : find("rope_scaling");
    // A local base has no scaling beside it.
    if (scaling != nullptr && !(of_kind != nullptr && slides_)) read_scaling(*scaling, width);
  }

  // Llama 4: queries of layers without positions grow with the logarithm of theirs.
  void read_temperature() {
    const json* tuned = find("attn_temperature_tuning");
    if (tuned == nullptr || *tuned == false || *tuned == 0) return;
    const json* step = find("floor_scale");
    const json* scale = find("attn_scale");
    rules_.temperature.step = step != nullptr ? positive(*step, "floor_scale") : kUsualStep;
    rules_.temperature.scale = scale != nullptr ? positive(*scale, "attn_scale") : kUsualGrowth;
  }

  // BLOOM and MPT have slopes always, Falcon where it says so, and adds them before the scale.
  void read_position_bias() {
    const json* alibi = find("alibi");
    if (config_.family == "falcon" && alibi != nullptr && *alibi == true) {
      const std::int64_t head_dim = config_.width.value_or(1) / config_.heads.value_or(1);
      config_.turns = false;
      rules_.position_bias.kind = PositionBias::Kind::slopes;
      config_.slope_factor =
          1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(head_dim, 1)));
    } else if (family_.slopes) {
      rules_.position_bias.kind = PositionBias::Kind::slopes;
    } else if (alibi != nullptr && !is_false(*alibi)) {
      add_foreign("alibi", *alibi);
    }
    read_mpt();
    if (!family_.buckets) return;
    rules_.position_bias = {PositionBias::Kind::buckets,
                            whole({"relative_attention_num_buckets"}).value_or(kUsualBuckets),
                            whole({"relative_attention_max_distance"}).value_or(kUsualFarthest)};
  }

  // What MPT keeps in an object of its own.
  void read_mpt() {
    const json* fields = find("attn_config");
    if (fields == nullptr || !fields->is_object()) return;
    const json* scale = find_in(*fields, "softmax_scale");
    if (scale != nullptr) rules_.scale = positive(*scale, "attn_config.softmax_scale");
    const json* clip = find_in(*fields, "clip_qkv");
    if (clip != nullptr) rules_.clip = positive(*clip, "attn_config.clip_qkv");
    for (const std::string_view name : {"qk_ln", "prefix_lm"}) {
      const json* value = find_in(*fields, name);
      if (value != nullptr && !is_false(*value)) add_foreign(name, *value);
    }
  }

  // Fused matrices of these families hold query, key and value of one head, or of one group of
  // heads, after the other.
  void read_groups() {
    const bool is_falcon = config_.family == "falcon";
    const json* grouped = find("new_decoder_architecture");
    const json* shared = find("multi_query");
    const std::int64_t heads = config_.heads.value_or(1);
    if (is_falcon && grouped != nullptr && *grouped == true) {
      config_.kv_heads = whole({"num_kv_heads"}).value_or(heads);
      config_.qkv_groups = *config_.kv_heads;
    } else if (is_falcon && (shared == nullptr || *shared == true)) {
      config_.kv_heads = 1;
    } else if (is_falcon || config_.family == "bloom" || config_.family == "gpt_neox") {
      config_.kv_heads = config_.heads;
      config_.qkv_groups = heads;
    }
    rules_.gate = family_.gate;
  }

  // @return values of a head that turn; 0 if the width of a head is not known
  std::int64_t read_part(const json* parameters) {
    const json* part =
        parameters != nullptr ? find_in(*parameters, "partial_rotary_factor") : nullptr;
    if (part == nullptr) part = find("partial_rotary_factor");
    if (part == nullptr) part = find("rotary_pct");
    const double share =
        part != nullptr ? positive(*part, "partial_rotary_factor") : family_.partial;
    if (share > 1) fail("partial_rotary_factor", "a number up to 1");
    std::optional<std::int64_t> head_dim = config_.head_dim;
    if (!head_dim && config_.width && config_.heads) head_dim = *config_.width / *config_.heads;
    if (!head_dim) {
      if (share < 1) fail("head_dim", "there, which partial_rotary_factor is a part of");
      return 0;
    }
    const auto turned = static_cast<std::int64_t>(share * static_cast<double>(*head_dim));
    if (turned < 2) fail("partial_rotary_factor", "a part of a head with two values or more");
    if (turned < *head_dim) rules_.rotary.width = turned;
    return turned;
  }

  void read_scaling(const json& scaling, std::int64_t width) {
    if (!scaling.is_object()) fail("rope_scaling", "an object");
    set_sections(scaling_fields(scaling), width, family_.interleaved, rules_.rotary);
    const json* type = find_in(scaling, "rope_type");
    if (type == nullptr) type = find_in(scaling, "type");
    if (type == nullptr) return;
    if (!type->is_string()) fail("rope_scaling.type", "text");
    std::string name = type->get<std::string>();
    if (name == "mrope") name = "default";  // Qwen2-VL's name of its sections
    // What files of Phi-3 call its scaling.
    if (config_.family == "phi3" && (name == "su" || name == "yarn")) name = "longrope";
    if (name == "default") return;
    if (width == 0 && name != "linear") fail("head_dim", "there, which rope_scaling needs");
    if (!scale_rotary(name, scaling_fields(scaling), contexts(scaling), width, rules_.rotary)) {
      add_foreign("rope_scaling", *type);
    }
  }

  ScalingFields scaling_fields(const json& scaling) const {
    const auto number = [this, &scaling](std::string_view name) -> std::optional<double> {
      const json* value = find_in(scaling, name);
      if (value == nullptr) return std::nullopt;
      return positive(*value, fmt::format("rope_scaling.{}", name));
    };
    return {number,
            [this, &scaling](std::string_view name) {
              std::vector<double> numbers;
              const json* list = find_in(scaling, name);
              if (list == nullptr) return numbers;
              const std::string full = fmt::format("rope_scaling.{}", name);
              if (!list->is_array()) fail(full, "a list");
              for (const json& value : *list) numbers.push_back(positive(value, full));
              return numbers;
            },
            [&scaling](std::string_view name) {
              const json* value = find_in(scaling, name);
              return value != nullptr && *value == false;
            },
            [this](std::string_view name, std::string_view what) {
              fail(fmt::format("rope_scaling.{}", name), what);
            },
            [&scaling](std::string_view name) {
              const json* value = find_in(scaling, name);
              return value != nullptr && *value == true;
            }};
  }

  Contexts contexts(const json& scaling) const {
    const auto context = [this](const json* value, std::string_view name) -> std::optional<double> {
      if (value == nullptr) return std::nullopt;
      return positive(*value, name);
    };
    constexpr std::string_view kOriginal = "original_max_position_embeddings";
    const json* original = find_in(scaling, kOriginal);
    if (original == nullptr) original = find(kOriginal);
    return {context(find("max_position_embeddings"), "max_position_embeddings"),
            context(original, kOriginal)};
  }

  const json& fields_;
  std::optional<std::int64_t> layer_;
  Family family_;
  bool slides_ = false;  // the layer has a window
  ModelConfig config_;
  LayerConfig& rules_ = config_.rules;
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
  return Reader(path, nested ? *text : fields, layer).read();
}

std::optional<ModelConfig> read_config(const std::filesystem::path& folder,
                                       std::optional<std::int64_t> layer) {
  const std::filesystem::path path = folder / "config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return read_config_file(path, layer);
}

}  // namespace headroom::weights
