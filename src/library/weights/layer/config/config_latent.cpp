#include <cmath>
#include <nlohmann/json.hpp>

#include "weights/layer/config/config_parts.hpp"
#include "weights/layer/rope_scaling.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::string_view kWhy = "a latent layer needs";

// Scores grow with the stretch of YaRN by a multiplier of their own.
void read_latent_scale(ConfigReading& reading) {
  const json* scaling = find_rope_scaling(reading);
  if (scaling == nullptr) return;
  const json* multiplier = ConfigFields::find_in(*scaling, "mscale_all_dim");
  const json* factor = ConfigFields::find_in(*scaling, "factor");
  const json* type = ConfigFields::find_in(*scaling, "rope_type");
  if (type == nullptr) type = ConfigFields::find_in(*scaling, "type");
  if (type == nullptr || *type == "default") return;
  if (multiplier == nullptr || factor == nullptr || *multiplier == 0) return;
  const double grown =
      yarn_growth(reading.fields.positive(*factor, "rope_scaling.factor"),
                  reading.fields.positive(*multiplier, "rope_scaling.mscale_all_dim"));
  const auto head_dim = static_cast<double>(*reading.config.head_dim);
  reading.rules().scale = grown * grown / std::sqrt(head_dim);
}

}  // namespace

// A head's own values of queries and keys, then those that turn, which keys share. The latents'
// norms have their class's epsilon, whatever the file says. DeepSeek V2's code turns neighbours
// even where a file asks for halves, as its row of families.cpp says.
void read_latent(ConfigReading& reading) {
  const ConfigFields& fields = reading.fields;
  LayerConfig& rules = reading.rules();
  rules.latent.rank = fields.required("kv_lora_rank", kWhy);
  rules.latent.query_rank = fields.whole({"q_lora_rank"}).value_or(0);
  rules.latent.shared = fields.required("qk_rope_head_dim", kWhy);
  rules.value_dim = fields.required("v_head_dim", kWhy);
  rules.rotary.pairs =
      fields.is_false("rope_interleave") ? Rotary::Pairs::halves : Rotary::Pairs::neighbours;
  reading.config.head_dim = rules.latent.shared;  // of which all turns
  read_rotary(reading);
  reading.config.head_dim = fields.required("qk_nope_head_dim", kWhy) + rules.latent.shared;
  if (rules.value_dim == *reading.config.head_dim) rules.value_dim = 0;
  if (rules.qkv_bias) reading.add_foreign("attention_bias", true);
  read_latent_scale(reading);
}

}  // namespace headroom::weights
