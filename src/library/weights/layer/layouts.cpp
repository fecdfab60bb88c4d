#include "weights/layer/layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

namespace headroom::weights {
namespace {

using Pairs = Rotary::Pairs;

constexpr Layout kLayouts[] = {
    {"gpt2", "c_attn and c_proj of GPT-2, stored in x out", "", "", "", "c_attn.weight",
     "c_proj.weight", Stored::in_out, Biases::required, Mask::causal},
    {"llama", "q_proj, k_proj, v_proj and o_proj of Llama, Mistral, Qwen and many others",
     "q_proj.weight", "k_proj.weight", "v_proj.weight", "", "o_proj.weight", Stored::out_in,
     Biases::optional, Mask::causal, Pairs::halves},
    {"deepseek", "kv_a_proj_with_mqa, kv_b_proj and o_proj of DeepSeek, whose keys are latent", "",
     "kv_b_proj.weight", "", "", "o_proj.weight", Stored::out_in, Biases::optional, Mask::causal,
     Pairs::neighbours, "kv_a_proj_with_mqa.weight"},
    {"falcon", "query_key_value and dense of Falcon, BLOOM and GPT-NeoX", "", "", "",
     "query_key_value.weight", "dense.weight", Stored::out_in, Biases::optional, Mask::causal,
     Pairs::halves},
    {"mpt", "Wqkv and out_proj of MPT", "", "", "", "Wqkv.weight", "out_proj.weight",
     Stored::out_in, Biases::optional, Mask::causal},
    {"t5", "q, k, v and o of T5", "q.weight", "k.weight", "v.weight", "", "o.weight",
     Stored::out_in, Biases::optional, Mask::of_decoders},
    {"modernbert", "Wqkv and Wo of ModernBERT", "", "", "", "Wqkv.weight", "Wo.weight",
     Stored::out_in, Biases::optional, Mask::none, Pairs::halves},
    {"bart", "q_proj, k_proj, v_proj and out_proj of BART, OPT, CLIP and Whisper", "q_proj.weight",
     "k_proj.weight", "v_proj.weight", "", "out_proj.weight", Stored::out_in, Biases::optional,
     Mask::of_decoders},
    {"phi3", "qkv_proj and o_proj of Phi-3", "", "", "", "qkv_proj.weight", "o_proj.weight",
     Stored::out_in, Biases::optional, Mask::causal, Pairs::halves},
    {"bert", "self.query, self.key, self.value and output.dense of BERT and RoBERTa",
     "self.query.weight", "self.key.weight", "self.value.weight", "", "output.dense.weight",
     Stored::out_in, Biases::required},
    {"vit", "attention.query, attention.key, attention.value and output.dense of ViT",
     "attention.query.weight", "attention.key.weight", "attention.value.weight", "",
     "output.dense.weight"},
    {"distilbert", "q_lin, k_lin, v_lin and out_lin of DistilBERT", "q_lin.weight", "k_lin.weight",
     "v_lin.weight", "", "out_lin.weight", Stored::out_in, Biases::required},
    {"torch", "in_proj_weight and out_proj of torch.nn.MultiheadAttention", "", "", "",
     "in_proj_weight", "out_proj.weight"},
    {"meta-llama", "wq, wk, wv and wo of Meta's own Llama files", "wq.weight", "wk.weight",
     "wv.weight", "", "wo.weight", Stored::out_in, Biases::optional, Mask::causal,
     Pairs::neighbours},
    {"gguf", "attn_q, attn_k, attn_v and attn_output of GGUF files", "attn_q.weight",
     "attn_k.weight", "attn_v.weight", "", "attn_output.weight", Stored::out_in, Biases::optional,
     Mask::causal, Pairs::none, "", kGgufQueryNorm, "attn_k_norm.weight", "attn_sinks.weight"},
    {"gguf-fused", "attn_qkv and attn_output of GGUF files", "", "", "", "attn_qkv.weight",
     "attn_output.weight", Stored::out_in, Biases::optional, Mask::causal, Pairs::none, "",
     kGgufQueryNorm, "attn_k_norm.weight", "attn_sinks.weight"},
};

// Tensors below a layer's prefix that change nothing of what it computes: causal masks and angles
// that older files keep, and norms that come after the layer.
constexpr std::string_view kHarmless[] = {"bias", "masked_bias", "rotary_emb.inv_freq",
                                          "inner_attention.rope.freqs"};
constexpr std::string_view kHarmlessStarts[] = {"output.LayerNorm."};

// Of a layer whose tensors share no prefix: others of the file may have nothing to do with it.
constexpr std::string_view kForeignAlone[] = {"sinks", "bias_k", "bias_v", "lambda_", "attn_", "q_",
                                              "k_",    "v_",     "query_", "key_",    kBuckets};

// All tensors of attention in GGUF files begin so; these stand before or behind it.
constexpr std::string_view kGgufStart = "attn_";
constexpr std::string_view kGgufBeside[] = {"attn_norm.", "attn_norm_2.", "attn_output_norm.",
                                            "attn_post_norm.", "attn_pre_norm."};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::binary_search(names.begin(), names.end(), name);
}

// The numbers among the words between dots, and the words.
struct Place {
  std::vector<std::pair<std::int64_t, std::string>> words;

  explicit Place(std::string_view prefix) {
    for (std::size_t start = 0; start < prefix.size();) {
      const std::size_t dot = std::min(prefix.find('.', start), prefix.size());
      const std::string_view word = prefix.substr(start, dot - start);
      std::int64_t number = -1;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      const bool whole = error == std::errc() && end == word.data() + word.size() && number >= 0;
      words.emplace_back(whole ? number : -1, std::string(word));
      start = dot + 1;
    }
  }

  std::optional<std::int64_t> number() const {
    const auto last = std::find_if(words.rbegin(), words.rend(),
                                   [](const auto& word) { return word.first >= 0; });
    return last == words.rend() ? std::nullopt : std::optional(last->first);
  }
};

FoundLayer layer_at(const Layout& layout, std::string prefix,
                    const std::vector<std::string>& names) {
  FoundLayer layer{&layout, std::move(prefix), std::nullopt, {}};
  for (const std::string_view word :
       {layout.query, layout.key, layout.value, layout.qkv, layout.output, layout.down}) {
    const std::string name = layer.prefix + std::string(word);
    if (!word.empty() && !has(names, name)) layer.missing.push_back(name);
  }
  return layer;
}

bool is_one_of(const std::string& name, const LayerNames& known) {
  const std::string* used[] = {&known.query,       &known.key,          &known.value,
                               &known.qkv,         &known.output,       &known.query_bias,
                               &known.key_bias,    &known.value_bias,   &known.qkv_bias,
                               &known.output_bias, &known.query_norm,   &known.key_norm,
                               &known.sinks,       &known.position_bias};
  return std::any_of(std::begin(used), std::end(used),
                     [&](const std::string* each) { return *each == name; });
}

template <class Words>
bool starts_with_one(std::string_view name, const Words& words) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return name.starts_with(word); });
}

template <class Words>
bool is_among(std::string_view name, const Words& words) {
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

constexpr std::string_view kLatentTensors[] = {kLatentQuery, kLatentQueryDown, kLatentQueryUp,
                                               kLatentQueryNorm, kLatentKeyNorm};

// @param name what follows the layer's prefix
bool changes_the_layer(const FoundLayer& layer, std::string_view name) {
  if (layer.layout->name.starts_with("gguf")) {
    return name.starts_with(kGgufStart) && !starts_with_one(name, kGgufBeside);
  }
  if (!layer.layout->down.empty() &&
      (name == layer.layout->down || is_among(name, kLatentTensors))) {
    return false;
  }
  if (is_among(name, kHarmless) || starts_with_one(name, kHarmlessStarts)) return false;
  return !layer.prefix.empty() || starts_with_one(name, kForeignAlone);
}

}  // namespace

std::string FoundLayer::name() const {
  return prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1);
}

std::vector<FoundLayer> find_layers(const std::vector<std::string>& names) {
  std::map<std::string, FoundLayer> found;
  for (const std::string& name : names) {
    for (const Layout& layout : kLayouts) {
      if (!name.ends_with(layout.first())) continue;
      std::string prefix = name.substr(0, name.size() - layout.first().size());
      if (!prefix.empty() && !prefix.ends_with('.')) continue;
      FoundLayer layer = layer_at(layout, prefix, names);
      const auto [place, fresh] = found.try_emplace(std::move(prefix), layer);
      if (!fresh && layer.missing.size() < place->second.missing.size()) {
        place->second = std::move(layer);
      }
    }
  }
  std::vector<std::pair<Place, FoundLayer>> order;
  for (auto& [prefix, layer] : found) {
    Place place(prefix);
    layer.number = place.number();
    order.emplace_back(std::move(place), std::move(layer));
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first.words < b.first.words; });
  std::vector<FoundLayer> layers;
  for (auto& [_, layer] : order) layers.push_back(std::move(layer));
  return layers;
}

std::vector<std::string> foreign_tensors(const FoundLayer& layer,
                                         const std::vector<std::string>& names,
                                         const LayerNames& known) {
  std::vector<std::string> found;
  for (auto name = std::lower_bound(names.begin(), names.end(), layer.prefix);
       name != names.end() && name->starts_with(layer.prefix); ++name) {
    const std::string_view rest = std::string_view(*name).substr(layer.prefix.size());
    if (!is_one_of(*name, known) && changes_the_layer(layer, rest)) found.push_back(*name);
  }
  return found;
}

std::string bias_of(std::string_view weight) {
  constexpr std::string_view kWeight = "weight";
  return std::string(weight.substr(0, weight.size() - kWeight.size())) + "bias";
}

std::string layout_words() {
  std::string text;
  for (const Layout& layout : kLayouts) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", layout.name, layout.meaning);
  }
  return text;
}

}  // namespace headroom::weights
