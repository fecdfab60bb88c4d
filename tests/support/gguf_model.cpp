#include "support/gguf_model.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "support/model_entries.hpp"

namespace headroom::test {
namespace {

using nlohmann::json;

const std::map<std::string, std::string>& architectures() {
  static const std::map<std::string, std::string> known{
      {"llama3", "llama"},     {"mistral", "llama"}, {"granite", "granite"},
      {"qwen3", "qwen3"},      {"gemma2", "gemma2"}, {"gemma3", "gemma3"},
      {"gpt_oss", "gpt-oss"},  {"phi4", "phi3"},     {"olmo2", "olmo2"},
      {"glm4_moe", "glm4moe"}, {"falcon", "falcon"}, {"falcon_new", "falcon"},
      {"bloom", "bloom"},      {"mpt", "mpt"},       {"bert", "bert"}};
  return known;
}

struct Tensor {
  std::vector<std::int64_t> dims;
  std::vector<float> values;

  std::int64_t width() const { return dims.size() == 1 ? 1 : dims[1]; }
  void append(const Tensor& from, std::int64_t row) {
    const auto first = from.values.begin() + row * from.width();
    values.insert(values.end(), first, first + from.width());
    ++dims[0];
  }
};

class Conversion {
 public:
  explicit Conversion(const json& entry)
      : entry_(entry),
        features_(entry.at("features")),
        folder_(models_folder() / entry.at("folder").get<std::string>()),
        architecture_(architectures().at(entry.at("folder"))),
        prefix_("blk." + std::to_string(entry.at("layer").get<int>()) + ".") {
    std::ifstream file(folder_ / "config.json");
    config_ = json::parse(file);
  }

  GgufText text() {
    text_.set("general.architecture", architecture_.c_str());
    set("block_count", 2);
    set_attention();
    if (features_.at("rope_type") != "none") set_rotary();
    text_.add(prefix_ + "attn_norm.weight", {1}, {1});
    add_projections();
    const json& tensors = entry_.at("tensors");
    add_with_bias("attn_output", tensors.at("output"));
    for (const char* name : {"q_norm", "k_norm"}) {
      if (tensors.contains(name)) add_norm(name, read(tensors.at(name)));
    }
    if (tensors.contains("sinks")) add("attn_sinks.weight", read(tensors.at("sinks")));
    return std::move(text_);
  }

 private:
  template <class Value>
  void set(const std::string& key, const Value& value) {
    text_.set(architecture_ + "." + key, value);
  }
  void add(const std::string& name, const Tensor& rows) {
    text_.add(prefix_ + name, rows.dims, rows.values);
  }
  double number(const char* feature) const { return features_.at(feature).get<double>(); }
  std::int64_t whole(const char* feature) const {
    return features_.at(feature).get<std::int64_t>();
  }

  Tensor read(const json& name) const {
    Tensor rows;
    const std::vector<double> values =
        read_doubles(folder_ / "model.safetensors", name.get<std::string>(), rows.dims);
    for (const double value : values) rows.values.push_back(static_cast<float>(value));
    return rows;
  }

  void set_attention() {
    set("embedding_length", read(entry_.at("tensors").at("output").at("weight")).dims[0]);
    set("attention.head_count", whole("heads"));
    set("attention.head_count_kv", whole("kv_heads"));
    set("attention.key_length", whole("head_dim"));
    set("attention.value_length", whole("value_dim"));
    const json& epsilon = features_.at("norm_eps");
    set("attention.layer_norm_rms_epsilon", epsilon.is_null() ? 1e-5 : epsilon.get<double>());
    set("attention.causal", features_.at("causal").get<bool>());
    if (std::abs(number("scale") - 1 / std::sqrt(number("head_dim"))) > 1e-12) {
      set("attention.scale", number("scale"));
    }
    if (!features_.at("softcap").is_null()) set("attn_logit_softcapping", number("softcap"));
    if (!features_.at("clip_qkv").is_null()) set("attention.clamp_kqv", number("clip_qkv"));
    if (architecture_ == "mpt") set("attention.max_alibi_bias", 8.0);
    // The window of the model, also in files whose layer has none.
    const json& window = config_.value("sliding_window", json());
    if (!window.is_null()) set("attention.sliding_window", window.get<std::int64_t>());
    if (architecture_ == "gemma3") {
      text_.set("gemma3.attention.sliding_window_pattern", GgufKind::truth,
                std::vector<std::uint8_t>{1, 0});
    }
  }

  void set_rotary() {
    set("rope.dimension_count", whole("rotary_dim"));
    set("context_length", config_.at("max_position_embeddings").get<std::int64_t>());
    const json& own = config_.at("rope_parameters");
    const json& rope = own.contains("full_attention") ? own.at("full_attention") : own;
    set("rope.freq_base", rope.at("rope_theta").get<double>());
    if (own.contains("sliding_attention")) {
      set("rope.freq_base_swa", own.at("sliding_attention").at("rope_theta").get<double>());
    }
    const std::string type = rope.at("rope_type");
    if (type == "linear" || type == "yarn") {
      set("rope.scaling.type", type.c_str());
      set("rope.scaling.factor", rope.at("factor").get<double>());
    }
    if (type == "yarn") set_original(rope);
    if (type == "llama3") add_divisors();
    if (type != "longrope") return;
    set_original(rope);
    set("rope.scaling.attn_factor", number("attention_factor"));
    for (const char* name : {"long", "short"}) {
      const auto factors = rope.at(std::string(name) + "_factor").get<std::vector<float>>();
      text_.add(std::string("rope_factors_") + name + ".weight",
                {static_cast<std::int64_t>(factors.size())}, factors);
    }
  }

  void set_original(const json& rope) {
    set("rope.scaling.original_context_length",
        rope.at("original_max_position_embeddings").get<std::int64_t>());
  }

  // What the frequencies of the model are smaller than they would be without its scaling.
  void add_divisors() {
    std::vector<float> divisors;
    for (const json& frequency : features_.at("inv_freq")) {
      const double turned = -2 * static_cast<double>(divisors.size()) / number("rotary_dim");
      divisors.push_back(
          static_cast<float>(std::pow(number("rope_base"), turned) / frequency.get<double>()));
    }
    text_.add("rope_freqs.weight", {static_cast<std::int64_t>(divisors.size())}, divisors);
  }

  // Rows of query, key and value one after the other, however the model mixes them.
  void add_projections() {
    for (const json& projection : entry_.at("tensors").at("projections")) {
      const bool fused = projection.at("parts").size() == 3;
      std::string name = "attn_";
      name += fused ? "qkv" : projection.at("parts")[0][0].get<std::string>();
      for (const char* kind : {"weight", "bias"}) {
        if (projection.at(kind).is_null()) continue;
        add(name + "." + kind, regrouped(read(projection.at(kind)), projection));
      }
    }
  }

  Tensor regrouped(const Tensor& rows, const json& projection) const {
    Tensor result = rows;
    result.values.clear();
    result.dims[0] = 0;
    const auto groups = projection.at("groups").get<std::int64_t>();
    const std::int64_t stride = rows.dims[0] / groups;
    std::int64_t start = 0;
    for (const json& part : projection.at("parts")) {
      const auto count = part[1].get<std::int64_t>();
      for (std::int64_t i = 0; i < groups * count; ++i) {
        result.append(rows, i / count * stride + start + i % count);
      }
      start += count;
    }
    const bool pairs = architecture_ == "llama" || architecture_ == "granite";
    return pairs && projection.at("parts")[0][0] != "v" ? with_neighbours(result) : result;
  }

  // Values that are turned together, which lie half a head apart, side by side.
  Tensor with_neighbours(const Tensor& rows) const {
    Tensor result = rows;
    result.values.clear();
    result.dims[0] = 0;
    const std::int64_t width = whole("head_dim");
    for (std::int64_t i = 0; i < rows.dims[0]; ++i) {
      const std::int64_t in_head = i % width;
      result.append(rows, i - in_head + in_head / 2 + in_head % 2 * (width / 2));
    }
    return result;
  }

  void add_with_bias(const std::string& name, const json& tensors) {
    add(name + ".weight", read(tensors.at("weight")));
    if (!tensors.at("bias").is_null()) add(name + ".bias", read(tensors.at("bias")));
  }

  void add_norm(const std::string& name, Tensor rows) {
    if (features_.at("norm_plus_one").get<bool>()) {
      for (float& value : rows.values) value += 1;
    }
    add("attn_" + name + ".weight", rows);
  }

  const json& entry_;
  const json& features_;
  std::filesystem::path folder_;
  std::string architecture_, prefix_;
  json config_;
  GgufText text_;
};

}  // namespace

std::optional<std::string> gguf_architecture_of(const std::string& folder) {
  const auto place = architectures().find(folder);
  return place == architectures().end() ? std::nullopt : std::optional(place->second);
}

GgufText gguf_of(const json& entry) { return Conversion(entry).text(); }

}  // namespace headroom::test
