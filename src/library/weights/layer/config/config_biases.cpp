#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weights/layer/config/config_parts.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kUsualBuckets = 32;  // of T5, as is the next
constexpr std::int64_t kUsualFarthest = 128;

// What MPT keeps in an object of its own.
void read_mpt(const ConfigReading& reading) {
  const json* own = reading.fields.find("attn_config");
  if (own == nullptr || !own->is_object()) return;
  const json* scale = ConfigFields::find_in(*own, "softmax_scale");
  if (scale != nullptr) {
    reading.rules().scale = reading.fields.positive(*scale, "attn_config.softmax_scale");
  }
  const json* clip = ConfigFields::find_in(*own, "clip_qkv");
  if (clip != nullptr)
    reading.rules().clip = reading.fields.positive(*clip, "attn_config.clip_qkv");
  static const json usual{{"qk_ln", false},
                          {"prefix_lm", false},
                          {"attn_uses_sequence_id", false},
                          {"alibi", true},
                          {"alibi_bias_max", 8},
                          {"rope", false},
                          {"sliding_window_size", -1},
                          {"attn_type", "multihead_attention"}};
  for (const auto& [name, value] : own->items()) {
    if (usual.contains(name) && !value.is_null() && value != usual[name]) {
      reading.add_foreign("attn_config." + name, value);
    }
  }
}

}  // namespace

void read_groups(ConfigReading& reading) {
  const ConfigFields& fields = reading.fields;
  ModelConfig& config = reading.config;
  const bool is_falcon = config.family == "falcon";
  const std::int64_t heads = config.heads.value_or(1);
  if (is_falcon && fields.is_true("new_decoder_architecture")) {
    config.kv_heads = fields.whole({"num_kv_heads"}).value_or(heads);
    config.qkv_groups = *config.kv_heads;
  } else if (is_falcon &&
             (fields.find("multi_query") == nullptr || fields.is_true("multi_query"))) {
    config.kv_heads = 1;
  } else if (is_falcon || config.family == "bloom" || config.family == "gpt_neox") {
    config.kv_heads = config.heads;
    config.qkv_groups = heads;
  }
}

// BLOOM and MPT have slopes always, Falcon where it says so, and adds them before the scale.
void read_position_bias(ConfigReading& reading) {
  const ConfigFields& fields = reading.fields;
  ModelConfig& config = reading.config;
  PositionBias& bias = reading.rules().position_bias;
  const json* alibi = fields.find("alibi");
  if (config.family == "falcon" && fields.is_true("alibi")) {
    const std::int64_t head_dim = config.width.value_or(1) / config.heads.value_or(1);
    config.turns = false;
    bias.kind = PositionBias::Kind::slopes;
    config.slope_factor = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(head_dim, 1)));
  } else if (reading.family.slopes) {
    bias.kind = PositionBias::Kind::slopes;
  } else if (alibi != nullptr && !(*alibi == false)) {
    reading.add_foreign("alibi", *alibi);
  }
  read_mpt(reading);
  if (!reading.family.buckets) return;
  bias = {PositionBias::Kind::buckets,
          fields.whole({"relative_attention_num_buckets"}).value_or(kUsualBuckets),
          fields.whole({"relative_attention_max_distance"}).value_or(kUsualFarthest)};
}

}  // namespace headroom::weights
