// Written by tests/models/class_fields.py from transformers 5.24; not by hand.
#include "weights/layer/config/class_fields.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace headroom::weights {
namespace {

// clang-format off
constexpr std::string_view kTable = R"({
  "gpt2": {"n_embd": 768, "n_head": 12},
  "opt": {"enable_bias": true, "hidden_size": 768, "max_position_embeddings": 2048, "num_attention_heads": 12},
  "bloom": {"hidden_size": 64, "n_head": 8},
  "mpt": {"d_model": 2048, "n_heads": 16},
  "llama": {"attention_bias": false, "head_dim": null, "hidden_size": 4096, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0},
  "arcee": {"attention_bias": false, "head_dim": null, "hidden_size": 2560, "max_position_embeddings": 4096, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0},
  "gemma": {"attention_bias": false, "head_dim": 256, "hidden_size": 3072, "max_position_embeddings": 8192, "num_attention_heads": 16, "num_key_value_heads": 16, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "use_bidirectional_attention": null},
  "granite": {"attention_bias": false, "attention_multiplier": 1.0, "hidden_size": 4096, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0},
  "granitemoe": {"attention_bias": false, "attention_multiplier": 1.0, "hidden_size": 4096, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0},
  "mistral": {"head_dim": null, "hidden_size": 4096, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096},
  "ministral": {"head_dim": null, "hidden_size": 4096, "layer_types": null, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096},
  "mixtral": {"head_dim": null, "hidden_size": 4096, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 1000000.0, "sliding_window": null},
  "nemotron": {"attention_bias": false, "head_dim": null, "hidden_size": 6144, "max_position_embeddings": 4096, "num_attention_heads": 48, "num_key_value_heads": null, "partial_rotary_factor": 0.5, "rope_parameters": null, "rope_theta": 10000.0},
  "olmo": {"attention_bias": false, "clip_qkv": null, "hidden_size": 4096, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rope_parameters": null, "rope_theta": 10000.0},
  "phi3": {"hidden_size": 3072, "max_position_embeddings": 4096, "num_attention_heads": 32, "num_key_value_heads": null, "original_max_position_embeddings": 4096, "partial_rotary_factor": 1.0, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": null},
  "phimoe": {"attention_bias": false, "hidden_size": 4096, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 1000000.0, "sliding_window": null},
  "falcon_h1": {"attention_bias": false, "hidden_size": 4096, "key_multiplier": 1.0, "max_position_embeddings": 8192, "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0},
  "seed_oss": {"attention_bias": true, "head_dim": 128, "hidden_size": 4096, "max_position_embeddings": 524288, "num_attention_heads": 80, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0},
  "smollm3": {"attention_bias": false, "hidden_size": 2048, "layer_types": null, "max_position_embeddings": 32768, "no_rope_layer_interval": 4, "no_rope_layers": null, "num_attention_heads": 16, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 2000000.0, "sliding_window": null, "use_sliding_window": false},
  "starcoder2": {"hidden_size": 3072, "max_position_embeddings": 4096, "num_attention_heads": 24, "num_key_value_heads": 2, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": null, "use_bias": true},
  "stablelm": {"hidden_size": 2560, "max_position_embeddings": 4096, "num_attention_heads": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.25, "rope_parameters": null, "rope_theta": 10000.0, "use_qkv_bias": false},
  "qwen2": {"hidden_size": 4096, "layer_types": null, "max_position_embeddings": 32768, "max_window_layers": 28, "num_attention_heads": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096, "use_sliding_window": false},
  "qwen2_moe": {"hidden_size": 2048, "layer_types": null, "max_position_embeddings": 32768, "max_window_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "qkv_bias": true, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096, "use_sliding_window": false},
  "qwen2_vl": {"hidden_size": 8192, "layer_types": null, "max_position_embeddings": 32768, "max_window_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 1000000.0, "sliding_window": 4096, "use_sliding_window": false},
  "qwen2_vl_text": {"hidden_size": 8192, "layer_types": null, "max_position_embeddings": 32768, "max_window_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 1000000.0, "sliding_window": 4096, "use_sliding_window": false},
  "qwen2_5_vl": {"hidden_size": 8192, "layer_types": null, "max_position_embeddings": 32768, "max_window_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 1000000.0, "sliding_window": 4096, "use_sliding_window": false},
  "qwen2_5_vl_text": {"hidden_size": 8192, "layer_types": null, "max_position_embeddings": 32768, "max_window_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 1000000.0, "sliding_window": 4096, "use_sliding_window": false},
  "cohere": {"attention_bias": false, "hidden_size": 8192, "max_position_embeddings": 8192, "num_attention_heads": 64, "num_key_value_heads": null, "rope_parameters": null, "rope_theta": 500000.0, "use_qk_norm": false},
  "cohere2": {"attention_bias": false, "hidden_size": 8192, "layer_types": null, "max_position_embeddings": 8192, "num_attention_heads": 64, "num_key_value_heads": null, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096, "sliding_window_pattern": 4},
  "ernie4_5": {"head_dim": 128, "hidden_size": 1024, "max_position_embeddings": 131072, "num_attention_heads": 16, "num_key_value_heads": 2, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 500000.0, "use_bias": false},
  "ernie4_5_moe": {"hidden_size": 2560, "max_position_embeddings": 131072, "num_attention_heads": 20, "num_key_value_heads": 4, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 500000.0, "use_bias": false},
  "glm": {"attention_bias": true, "head_dim": 128, "hidden_size": 4096, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_key_value_heads": 2, "partial_rotary_factor": 0.5, "rms_norm_eps": 1.5625e-07, "rope_parameters": null, "rope_theta": 10000.0},
  "glm4": {"attention_bias": true, "head_dim": 128, "hidden_size": 4096, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_key_value_heads": 2, "partial_rotary_factor": 0.5, "rms_norm_eps": 1.5625e-07, "rope_parameters": null, "rope_theta": 10000.0},
  "apertus": {"attention_bias": false, "hidden_size": 4096, "max_position_embeddings": 65536, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": {"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0, "original_max_position_embeddings": 8192, "low_freq_factor": 1.0, "high_freq_factor": 4.0}, "rope_theta": 12000000.0},
  "exaone4": {"hidden_size": 4096, "layer_types": null, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096, "sliding_window_pattern": 4},
  "gemma2": {"attention_bias": false, "attn_logit_softcapping": 50.0, "head_dim": 256, "hidden_size": 2304, "layer_types": null, "max_position_embeddings": 8192, "num_attention_heads": 8, "num_key_value_heads": 4, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096, "use_bidirectional_attention": null},
  "gemma3_text": {"attention_bias": false, "attn_logit_softcapping": null, "head_dim": 256, "hidden_size": 2304, "layer_types": null, "max_position_embeddings": 131072, "num_attention_heads": 8, "num_key_value_heads": 4, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000.0, "rope_parameters": null, "rope_theta": 1000000.0, "sliding_window": 4096, "sliding_window_pattern": 6, "use_bidirectional_attention": false},
  "glm4_moe": {"attention_bias": false, "hidden_size": 4096, "max_position_embeddings": 131072, "num_attention_heads": 96, "num_key_value_heads": 8, "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0, "use_qk_norm": false},
  "hunyuan_v1_dense": {"attention_bias": false, "head_dim": null, "hidden_size": 4096, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0},
  "hunyuan_v1_moe": {"attention_bias": false, "head_dim": null, "hidden_size": 4096, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0},
  "llama4_text": {"attention_bias": false, "attention_chunk_size": 8192, "attn_scale": 0.1, "attn_temperature_tuning": true, "floor_scale": 8192, "head_dim": 128, "hidden_size": 5120, "layer_types": null, "max_position_embeddings": 131072, "no_rope_layer_interval": 4, "no_rope_layers": null, "num_attention_heads": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 500000.0, "use_qk_norm": true},
  "minimax_m2": {"head_dim": 128, "hidden_size": 3072, "max_position_embeddings": 196608, "num_attention_heads": 48, "num_key_value_heads": 8, "partial_rotary_factor": 1, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 5000000.0},
  "olmo2": {"attention_bias": false, "hidden_size": 4096, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0},
  "olmo3": {"attention_bias": false, "hidden_size": 4096, "layer_types": null, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 500000.0, "sliding_window": 4096},
  "olmoe": {"attention_bias": false, "clip_qkv": null, "hidden_size": 2048, "max_position_embeddings": 4096, "num_attention_heads": 16, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0},
  "qwen3": {"attention_bias": false, "head_dim": 128, "hidden_size": 4096, "layer_types": null, "max_position_embeddings": 32768, "max_window_layers": 28, "num_attention_heads": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096, "use_sliding_window": false},
  "qwen3_moe": {"attention_bias": false, "hidden_size": 2048, "max_position_embeddings": 32768, "num_attention_heads": 32, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "sliding_window": 4096, "use_sliding_window": false},
  "qwen3_next": {"attention_bias": false, "head_dim": 256, "hidden_size": 2048, "layer_types": null, "max_position_embeddings": 32768, "num_attention_heads": 16, "num_key_value_heads": 2, "partial_rotary_factor": 0.25, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0},
  "qwen3_vl_text": {"attention_bias": false, "head_dim": 128, "hidden_size": 4096, "max_position_embeddings": 128000, "num_attention_heads": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 500000.0},
  "qwen3_vl_moe_text": {"attention_bias": false, "head_dim": null, "hidden_size": 2048, "max_position_embeddings": 128000, "num_attention_heads": 16, "num_key_value_heads": 16, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 500000.0},
  "gpt_oss": {"attention_bias": true, "head_dim": 64, "hidden_size": 2880, "layer_types": null, "max_position_embeddings": 131072, "num_attention_heads": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_parameters": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false, "original_max_position_embeddings": 4096, "rope_theta": 150000.0}, "rope_theta": 150000.0, "sliding_window": 128},
  "deepseek_v2": {"attention_bias": false, "head_dim": null, "hidden_size": 4096, "kv_lora_rank": 512, "max_position_embeddings": 2048, "num_attention_heads": 32, "num_key_value_heads": null, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_parameters": null, "rope_theta": 10000.0, "v_head_dim": 128},
  "deepseek_v3": {"attention_bias": false, "hidden_size": 7168, "kv_lora_rank": 512, "max_position_embeddings": 4096, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_interleave": true, "rope_parameters": null, "rope_theta": 10000.0, "v_head_dim": 128},
  "kimi_k2": {"attention_bias": false, "hidden_size": 7168, "kv_lora_rank": 512, "max_position_embeddings": 4096, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_interleave": true, "rope_parameters": null, "rope_theta": 10000.0, "v_head_dim": 128},
  "falcon": {"bias": false, "hidden_size": 4544, "max_position_embeddings": 2048, "multi_query": true, "new_decoder_architecture": false, "num_attention_heads": 71, "num_kv_heads": null, "rope_parameters": null, "rope_theta": 10000.0},
  "gpt_neox": {"attention_bias": true, "hidden_size": 6144, "max_position_embeddings": 2048, "num_attention_heads": 64, "partial_rotary_factor": 0.25, "rope_parameters": null, "rope_theta": 10000.0},
  "eurobert": {"attention_bias": false, "head_dim": null, "hidden_size": 768, "max_position_embeddings": 8192, "num_attention_heads": 12, "num_key_value_heads": null, "rms_norm_eps": 1e-05, "rope_parameters": null, "rope_theta": 10000.0},
  "modernbert": {"attention_bias": false, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "hidden_size": 768, "layer_types": null, "local_attention": 128, "local_rope_theta": 10000.0, "max_position_embeddings": 8192, "num_attention_heads": 12, "rope_parameters": null},
  "bert": {"hidden_size": 768, "max_position_embeddings": 512, "num_attention_heads": 12},
  "roberta": {"hidden_size": 768, "max_position_embeddings": 512, "num_attention_heads": 12},
  "xlm-roberta": {"hidden_size": 768, "max_position_embeddings": 512, "num_attention_heads": 12},
  "camembert": {"hidden_size": 768, "max_position_embeddings": 512, "num_attention_heads": 12},
  "electra": {"hidden_size": 256, "max_position_embeddings": 512, "num_attention_heads": 4},
  "distilbert": {"dim": 768, "max_position_embeddings": 512, "n_heads": 12},
  "vit": {"hidden_size": 768, "num_attention_heads": 12, "qkv_bias": true},
  "deit": {"hidden_size": 768, "num_attention_heads": 12, "qkv_bias": true},
  "dinov2": {"hidden_size": 768, "num_attention_heads": 12, "qkv_bias": true},
  "clip_text_model": {"hidden_size": 512, "max_position_embeddings": 77, "num_attention_heads": 8},
  "clip_vision_model": {"hidden_size": 768, "num_attention_heads": 12},
  "siglip_text_model": {"hidden_size": 768, "max_position_embeddings": 64, "num_attention_heads": 12},
  "siglip_vision_model": {"hidden_size": 768, "num_attention_heads": 12},
  "t5": {"d_kv": 64, "d_model": 512, "num_heads": 8, "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32},
  "mt5": {"d_kv": 64, "d_model": 512, "num_heads": 6, "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32},
  "bart": {"d_model": 1024, "decoder_attention_heads": 16, "encoder_attention_heads": 16, "max_position_embeddings": 1024},
  "mbart": {"d_model": 1024, "decoder_attention_heads": 16, "encoder_attention_heads": 16, "max_position_embeddings": 1024},
  "whisper": {"d_model": 384, "decoder_attention_heads": 6, "encoder_attention_heads": 6},
  "gpt_neo": {"hidden_size": 2048, "max_position_embeddings": 2048, "num_heads": 16},
  "mpnet": {"hidden_size": 768, "max_position_embeddings": 512, "num_attention_heads": 12, "relative_attention_num_buckets": 32}
})";
// clang-format on

}  // namespace

const nlohmann::json* find_class_fields(std::string_view family) {
  static const nlohmann::json table = nlohmann::json::parse(kTable);
  const auto found = table.find(family);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace headroom::weights
