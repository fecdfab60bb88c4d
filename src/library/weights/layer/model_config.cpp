#include "weights/layer/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMostHeads = std::int64_t{1} << 31;

struct Family {
  std::string_view name;
  bool causal;
  bool turns = false;
  std::string_view foreign = {};  ///< what it does that no field says
};
constexpr Family kFamilies[] = {
    {"gpt2", true},
    {"opt", true},
    {"llama", true, true},
    {"mistral", true, true},
    {"mixtral", true, true},
    {"qwen2", true, true},
    {"qwen2_moe", true, true},
    {"qwen3", true, true},
    {"qwen3_moe", true, true},
    {"gemma", true, true},
    {"gemma2", true, true},
    {"gemma3_text", true, true},
    {"phi3", true, true},
    {"olmo", true, true},
    {"olmo2", true, true},
    {"granite", true, true},
    {"starcoder2", true, true},
    {"smollm3", true, true},
    {"bert", false},
    {"roberta", false},
    {"xlm-roberta", false},
    {"camembert", false},
    {"electra", false},
    {"distilbert", false},
    {"vit", false},
    {"deit", false},
    {"dinov2", false},
    {"gpt_neo", true, false, "scores are not divided by the root of the head's width"},
    {"mpnet", false, false, "scores get a bias that depends on the distance"},
};

// A field that has to have a certain value, or none at all.
struct Harmless {
  std::string_view field;
  std::function<bool(const json&)> is_harmless;
};

bool is_false(const json& value) { return value == false; }
bool is_true(const json& value) { return value == true; }
bool is_one(const json& value) { return value == 1.0; }
bool never(const json&) { return false; }

const std::initializer_list<Harmless>& harmless_values() {
  static const std::initializer_list<Harmless> fields{
      {"attn_logit_softcapping", never},
      {"attention_multiplier", never},
      {"clip_qkv", never},
      {"rotary_dim", never},
      {"alibi", is_false},
      {"partial_rotary_factor", is_one},
      {"rotary_pct", is_one},
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
    config_.heads = whole({"num_attention_heads", "n_head", "n_heads", "num_heads"});
    config_.kv_heads = whole({"num_key_value_heads"});
    config_.head_dim = whole({"head_dim"});
    read_family();
    read_window();
    read_rotary();
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
    const auto* family =
        std::find_if(std::begin(kFamilies), std::end(kFamilies),
                     [&](const Family& known) { return known.name == config_.family; });
    if (family == std::end(kFamilies)) return;
    config_.causal = family->causal;
    config_.turns = family->turns;
    if (!family->foreign.empty()) config_.foreign.emplace_back(family->foreign);
    const json* decoder = find("is_decoder");
    if (!family->causal && decoder != nullptr && *decoder == true) config_.causal = true;
  }

  // Whether this layer is one of those with a window, where the layers differ.
  bool has_window() const {
    const json* use = find("use_sliding_window");
    if (use != nullptr && *use == false) return false;
    const json* types = find("layer_types");
    if (types == nullptr || !types->is_array() || !layer_) return true;
    const auto place = static_cast<std::size_t>(*layer_);
    return place >= types->size() || types->at(place) == "sliding_attention";
  }

  void read_window() {
    if (has_window()) config_.window = whole({"sliding_window"});
  }

  void read_rotary() {
    // Newer files have one object for what older ones have in two fields.
    const json* parameters = find("rope_parameters");
    if (parameters != nullptr && !parameters->is_object()) fail("rope_parameters", "an object");
    const json* base = find("rope_theta");
    if (base == nullptr && parameters != nullptr) base = find_in(*parameters, "rope_theta");
    if (base != nullptr) {
      config_.rotary_base = positive(*base, "rope_theta");
      config_.turns = true;
    }
    const json* scaling = find("rope_scaling");
    if (scaling == nullptr) scaling = parameters;
    if (scaling != nullptr) read_scaling(*scaling);
  }

  void read_scaling(const json& scaling) {
    if (!scaling.is_object()) fail("rope_scaling", "an object");
    const json* type = find_in(scaling, "rope_type");
    if (type == nullptr) type = find_in(scaling, "type");
    if (type == nullptr || *type == "default") return;
    if (*type != "linear") {
      add_foreign("rope_scaling", *type);
      return;
    }
    const json* factor = find_in(scaling, "factor");
    if (factor == nullptr) fail("rope_scaling", "an object with a factor");
    config_.rotary_scale = 1 / positive(*factor, "rope_scaling.factor");
  }

  const json& fields_;
  std::optional<std::int64_t> layer_;
  ModelConfig config_;
};

}  // namespace

std::optional<ModelConfig> read_config(const std::filesystem::path& folder,
                                       std::optional<std::int64_t> layer) {
  const std::filesystem::path path = folder / "config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const json fields = json::parse(read_regular_file(path, kMaxBytes), nullptr, false);
  if (!fields.is_object()) {
    throw FileError(fmt::format("{}: it is no JSON object; correct the file or move it away",
                                shown_path(path)));
  }
  return Reader(path, fields, layer).read();
}

}  // namespace headroom::weights
