"""Decoders: a tiny configuration as published checkpoints spell it, the kinds of layers, and what
their attention computes, read from transformers 5.24.0 (models/*/modeling_*.py and
modeling_rope_utils.py).
"""

import math

from layers import (
    HEAD_NORMS,
    Family,
    Layer,
    Projection,
    decoder,
    features,
    rope_of,
    separate,
    sizes,
)  # fmt: skip

# --- Llama 3


def llama3():
    published = sizes(
        architectures=["LlamaForCausalLM"], model_type="llama", rms_norm_eps=1e-5,
        rope_theta=100.0, attention_bias=False,
        rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                      "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    )  # fmt: skip
    return Family("Llama 3", "llama3", published, lambda m: [decoder(m, 1, "full")])


# --- Norms of queries and keys


def normed_layer(over):
    """Layer 1, which sees everything, with norms by `head` or over the `width`."""

    def layers(model):
        eps = model.config.rms_norm_eps
        return [decoder(model, 1, "full", qk_norm=over, norm_eps=eps, vectors=HEAD_NORMS)]

    return layers


# --- Qwen3


def qwen3():
    published = sizes(
        architectures=["Qwen3ForCausalLM"], model_type="qwen3", head_dim=16, rms_norm_eps=1e-2,
        rope_theta=100.0, rope_scaling=None, attention_bias=False, use_sliding_window=False,
        sliding_window=None, max_window_layers=2,
    )  # fmt: skip
    return Family("Qwen3", "qwen3", published, normed_layer("head"))


# --- Gemma


def gemma2():
    published = sizes(
        architectures=["Gemma2ForCausalLM"], model_type="gemma2", head_dim=16, rms_norm_eps=1e-6,
        rope_theta=100.0, query_pre_attn_scalar=24, attn_logit_softcapping=2.0,
        final_logit_softcapping=30.0, sliding_window=5, hidden_activation="gelu_pytorch_tanh",
        hidden_act="gelu_pytorch_tanh", attention_bias=False,
    )  # fmt: skip

    def layers(model):
        config = model.config
        more = {"scale": config.query_pre_attn_scalar**-0.5,
                "softcap": config.attn_logit_softcapping}  # fmt: skip
        return [
            decoder(model, 0, "sliding", window=config.sliding_window, **more),
            decoder(model, 1, "full", **more),
        ]

    return Family("Gemma 2", "gemma2", published, layers)


def gemma3():
    published = sizes(
        architectures=["Gemma3ForCausalLM"], model_type="gemma3_text", head_dim=16,
        rms_norm_eps=1e-2, rope_theta=500.0, rope_local_base_freq=20.0,
        rope_scaling={"rope_type": "linear", "factor": 4.0}, query_pre_attn_scalar=8,
        attn_logit_softcapping=None, final_logit_softcapping=None, sliding_window=5,
        sliding_window_pattern=2, hidden_activation="gelu_pytorch_tanh", attention_bias=False,
    )  # fmt: skip

    def layers(model):
        config = model.config
        more = {
            "scale": config.query_pre_attn_scalar**-0.5, "qk_norm": "head",
            "norm_plus_one": True, "norm_eps": config.rms_norm_eps, "vectors": HEAD_NORMS,
        }  # fmt: skip
        local, all_of_it = rope_of(model, "sliding_attention"), rope_of(model, "full_attention")
        return [
            decoder(model, 0, "sliding", rope=local, window=config.sliding_window, **more),
            decoder(model, 1, "full", rope=all_of_it, **more),
        ]

    return Family("Gemma 3", "gemma3", published, layers)


# --- gpt-oss


def gpt_oss():
    published = sizes(
        architectures=["GptOssForCausalLM"], model_type="gpt_oss", head_dim=8, rms_norm_eps=1e-5,
        rope_theta=100.0, attention_bias=True, sliding_window=5, num_local_experts=2,
        num_experts_per_tok=1, intermediate_size=8, hidden_act="silu", swiglu_limit=7.0,
        layer_types=["sliding_attention", "full_attention"], initial_context_length=64,
        rope_scaling={"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
                      "truncate": False, "original_max_position_embeddings": 64},
    )  # fmt: skip

    def layers(model):
        vectors = {"sinks": "sinks"}
        window = model.config.sliding_window
        return [
            decoder(model, 0, "sliding", sinks=True, window=window, vectors=vectors),
            decoder(model, 1, "full", sinks=True, vectors=vectors),
        ]

    return Family("gpt-oss", "gpt_oss", published, layers)


# --- Mistral


def mistral():
    published = sizes(
        architectures=["MistralForCausalLM"], model_type="mistral", head_dim=16, rms_norm_eps=1e-5,
        rope_theta=100.0, sliding_window=5,
    )  # fmt: skip

    def layers(model):
        return [decoder(model, 1, "sliding", window=model.config.sliding_window)]

    return Family("Mistral", "mistral", published, layers)


# --- OLMo 2


def olmo2():
    published = sizes(
        architectures=["Olmo2ForCausalLM"], model_type="olmo2", rms_norm_eps=1e-2,
        rope_theta=100.0, attention_bias=False,
    )  # fmt: skip
    return Family("OLMo 2", "olmo2", published, normed_layer("width"))


# --- Granite


def granite():
    published = sizes(
        architectures=["GraniteForCausalLM"], model_type="granite", rms_norm_eps=1e-5,
        rope_theta=100.0, rope_scaling=None, attention_bias=False, attention_multiplier=0.25,
        embedding_multiplier=12.0, residual_multiplier=0.22, logits_scaling=8.0,
    )  # fmt: skip

    def layers(model):
        return [decoder(model, 1, "full", scale=model.config.attention_multiplier)]

    return Family("Granite", "granite", published, layers)


# --- Phi-4 (class Phi3)


def phi4():
    published = sizes(
        architectures=["Phi3ForCausalLM"], model_type="phi3", rms_norm_eps=1e-5, rope_theta=100.0,
        partial_rotary_factor=0.75, sliding_window=None, attention_bias=False,
        original_max_position_embeddings=16,
        rope_scaling={"type": "longrope", "short_factor": [1.0, 1.1, 1.3],
                      "long_factor": [1.2, 2.0, 5.0]},
    )  # fmt: skip

    def layers(model):
        config = model.config
        size = config.hidden_size // config.num_attention_heads
        kv_size = config.num_key_value_heads * size
        parts = [["q", config.num_attention_heads * size], ["k", kv_size], ["v", kv_size]]
        fused = [Projection("qkv_proj", parts)]
        return [
            decoder(model, 1, "short", projections=fused, tokens=16, name="layer1_short"),
            decoder(model, 1, "long", projections=fused, tokens=17, name="layer1_long",
                    inv_freq=long_frequencies(config)),
        ]  # fmt: skip

    return Family("Phi-4", "phi4", published, layers)


def long_frequencies(config):
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    length = config.rope_parameters["original_max_position_embeddings"] + 1
    return ROPE_INIT_FUNCTIONS["longrope"](config, None, seq_len=length)[0].tolist()


# --- GLM-4.5


def glm4_moe():
    published = sizes(
        architectures=["Glm4MoeForCausalLM"], model_type="glm4_moe", head_dim=16,
        rms_norm_eps=1e-2, rope_theta=100.0, rope_scaling=None, partial_rotary_factor=0.5,
        attention_bias=True, use_qk_norm=True, moe_intermediate_size=8, n_routed_experts=2,
        n_shared_experts=1, num_experts_per_tok=1, n_group=1, topk_group=1,
        first_k_dense_replace=1, num_nextn_predict_layers=0, norm_topk_prob=True,
        routed_scaling_factor=1.0,
    )  # fmt: skip
    return Family("GLM-4.5", "glm4_moe", published, normed_layer("head"))


# --- Qwen3-Next


def qwen3_next():
    published = sizes(
        architectures=["Qwen3NextForCausalLM"], model_type="qwen3_next", head_dim=16,
        rms_norm_eps=1e-2, rope_theta=100.0, rope_scaling=None, partial_rotary_factor=0.25,
        attention_bias=False, full_attention_interval=2, decoder_sparse_step=1,
        linear_conv_kernel_dim=2, linear_key_head_dim=8, linear_value_head_dim=8,
        linear_num_key_heads=2, linear_num_value_heads=2, moe_intermediate_size=8, num_experts=2,
        num_experts_per_tok=1, shared_expert_intermediate_size=8, norm_topk_prob=True,
        mlp_only_layers=[],
    )  # fmt: skip

    def layers(model):
        config, size = model.config, model.config.head_dim
        query = Projection("q_proj", [["q", size], ["gate", size]], config.num_attention_heads)
        return [
            decoder(model, 1, "full", qk_norm="head", norm_plus_one=True, gate=True,
                    norm_eps=config.rms_norm_eps, vectors=HEAD_NORMS,
                    projections=[query, *separate(config, size)[1:]]),
        ]  # fmt: skip

    return Family("Qwen3-Next", "qwen3_next", published, layers)


# --- Llama 4


def llama4():
    published = sizes(
        architectures=["Llama4ForCausalLM"], model_type="llama4_text", head_dim=8,
        rms_norm_eps=1e-2, rope_theta=100.0, attention_bias=False, use_qk_norm=True,
        no_rope_layers=[1, 0], attention_chunk_size=7, attn_temperature_tuning=True, floor_scale=4,
        attn_scale=0.5, intermediate_size=8, intermediate_size_mlp=16, num_local_experts=2,
        num_experts_per_tok=1, interleave_moe_layer_step=1,
        rope_scaling={"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0,
                      "high_freq_factor": 1.0, "original_max_position_embeddings": 64},
    )  # fmt: skip

    def layers(model):
        config = model.config
        tuning = {"floor_scale": config.floor_scale, "attn_scale": config.attn_scale}
        return [
            decoder(model, 0, "rope", rotary_interleaved=True, qk_norm="l2",
                    norm_after_rotation=True, norm_eps=config.rms_norm_eps,
                    chunk=config.attention_chunk_size),
            decoder(model, 1, "nope", rope={}, temperature=tuning),
        ]  # fmt: skip

    return Family("Llama 4", "llama4", published, layers)


# --- Falcon


def falcon_like(folder, gain=1.4, implementation="eager", **more):
    published = {
        "architectures": ["FalconForCausalLM"], "model_type": "falcon", "vocab_size": 99,
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "layer_norm_epsilon": 1e-5, "hidden_dropout": 0.0, "attention_dropout": 0.0,
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32", **more,
    }  # fmt: skip

    def layers(model):
        return [falcon_layer(model, folder)]

    return Family("Falcon", folder, published, layers, gain=gain, implementation=implementation)


def falcon_layer(model, folder):
    config, size = model.config, model.config.hidden_size // model.config.num_attention_heads
    heads, path = config.num_attention_heads, "transformer.h.1.self_attention"
    kv_heads = 1 if config.multi_query else heads
    if config.new_decoder_architecture:
        kv_heads = config.num_kv_heads
    per_group = heads // kv_heads * size
    fused = Projection("query_key_value", [["q", per_group], ["k", size], ["v", size]], kv_heads)
    given = {
        "heads": heads, "kv_heads": kv_heads, "head_dim": size, "value_dim": size,
        "scale": size**-0.5, "biases": "qkvo" if config.bias else "",
    }  # fmt: skip
    if config.alibi:
        factor = size**-0.5
        slopes = [slope * factor for slope in alibi_slopes(heads)]
        given["alibi"] = {"slopes": slopes, "factor": factor, "max": 8}
    else:
        given.update(rope_of(model))
    kind = {"falcon": "multi query", "falcon_new": "grouped", "falcon_rw": "alibi"}[folder]
    return Layer(1, kind, path, features(**given), [fused], "dense")


def falcon():
    more = {"alibi": False, "multi_query": True, "new_decoder_architecture": False}
    return falcon_like("falcon", **more, parallel_attn=True, bias=False, rope_theta=100.0)


def falcon_new():
    more = {"alibi": False, "multi_query": True, "new_decoder_architecture": True}
    return falcon_like("falcon_new", **more, num_kv_heads=2, parallel_attn=True, bias=False,
                       rope_theta=100.0)  # fmt: skip


def falcon_rw():
    more = {"alibi": True, "multi_query": False, "new_decoder_architecture": False}
    return falcon_like("falcon_rw", **more, parallel_attn=False, bias=True, implementation="sdpa")


# --- BLOOM and MPT


def alibi_slopes(heads):
    """Halving slopes: of the power of two below, then every second one of twice as many."""
    power = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return slopes + [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]


def bloom():
    published = {
        "architectures": ["BloomForCausalLM"], "model_type": "bloom", "vocab_size": 99,
        "hidden_size": 48, "n_layer": 2, "num_attention_heads": 6, "layer_norm_epsilon": 1e-5,
        "apply_residual_connection_post_layernorm": False, "hidden_dropout": 0.0,
        "attention_dropout": 0.0, "pretraining_tp": 1, "slow_but_exact": False,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3, "torch_dtype": "float32",
    }  # fmt: skip

    def layers(model):
        heads, size = model.config.n_head, model.config.hidden_size // model.config.n_head
        fused = Projection("query_key_value", [["q", size], ["k", size], ["v", size]], heads)
        given = features(
            heads=heads, kv_heads=heads, head_dim=size, value_dim=size, scale=size**-0.5,
            alibi={"slopes": alibi_slopes(heads), "factor": 1.0, "max": 8}, biases="qkvo",
        )  # fmt: skip
        return [Layer(1, "alibi", "transformer.h.1.self_attention", given, [fused], "dense")]

    return Family("BLOOM", "bloom", published, layers)


def mpt():
    published = {
        "architectures": ["MPTForCausalLM"], "model_type": "mpt", "vocab_size": 99, "d_model": 32,
        "n_heads": 4, "n_layers": 2, "expansion_ratio": 1, "max_seq_len": 64, "no_bias": True,
        "learned_pos_emb": True, "norm_type": "low_precision_layernorm",
        "attn_config": {"alibi": True, "alibi_bias_max": 8, "attn_impl": "torch", "attn_pdrop": 0,
                        "attn_type": "multihead_attention", "clip_qkv": 2.0, "prefix_lm": False,
                        "qk_ln": False, "softmax_scale": 0.3, "attn_uses_sequence_id": False},
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
    }  # fmt: skip

    def layers(model):
        config, attention = model.config, model.config.attn_config
        heads, width, size = config.n_heads, config.d_model, config.d_model // config.n_heads
        given = features(
            heads=heads, kv_heads=heads, head_dim=size, value_dim=size,
            scale=attention.softmax_scale or size**-0.5, clip_qkv=attention.clip_qkv,
            alibi={"slopes": alibi_slopes(heads), "factor": 1.0, "max": 8},
        )  # fmt: skip
        fused = Projection("Wqkv", [["q", width], ["k", width], ["v", width]])
        return [Layer(1, "alibi", "transformer.blocks.1.attn", given, [fused], "out_proj")]

    return Family("MPT", "mpt", published, layers)


# --- DeepSeek V2 and V3


V3_ROUTING = {"norm_topk_prob": True, "routed_scaling_factor": 2.5, "num_nextn_predict_layers": 0}


def deepseek_like(folder, version, **more):
    published = sizes(
        architectures=[f"DeepseekV{version}ForCausalLM"], model_type=f"deepseek_v{version}",
        num_key_value_heads=4, rms_norm_eps=1e-2, rope_theta=100.0, attention_bias=False,
        kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=12,
        moe_intermediate_size=8, n_routed_experts=2, n_shared_experts=1, num_experts_per_tok=1,
        n_group=1, topk_group=1, first_k_dense_replace=1, **more,
    )  # fmt: skip
    kind = "latent" if more["q_lora_rank"] else "latent, plain q"
    return Family(f"DeepSeek V{version}", folder, published, lambda m: [deepseek_layer(m, kind)])


def deepseek_layer(model, kind):
    config, module = model.config, model.get_submodule("model.layers.1.self_attn")
    heads, own = config.num_attention_heads, config.qk_nope_head_dim
    turned, rank = config.qk_rope_head_dim, config.kv_lora_rank
    latent = {"q_rank": config.q_lora_rank, "kv_rank": rank, "nope_dim": own,
              "rope_dim": turned, "norm_eps": module.kv_a_layernorm.variance_epsilon}  # fmt: skip
    vectors = {"kv_latent_norm": "kv_a_layernorm.weight"}
    query = [Projection("q_proj", [["q", heads * (own + turned)]])]
    if config.q_lora_rank:
        vectors["q_latent_norm"] = "q_a_layernorm.weight"
        query = [
            Projection("q_a_proj", [["q_latent", config.q_lora_rank]]),
            Projection("q_b_proj", [["q", heads * (own + turned)]], input="q_latent"),
        ]
    values = [
        Projection("kv_a_proj_with_mqa", [["kv_latent", rank], ["k_shared", turned]]),
        Projection("kv_b_proj", [["k_own", own], ["v", config.v_head_dim]], heads, "kv_latent"),
    ]
    return decoder(
        model, 1, kind, projections=query + values, vectors=vectors, mla=latent, kv_heads=heads,
        head_dim=own + turned, value_dim=config.v_head_dim, rotary_start=own, biases="",
        rotary_interleaved=getattr(config, "rope_interleave", True), scale=latent_scale(config, own + turned),
    )  # fmt: skip


def latent_scale(config, size):
    """With yarn and mscale_all_dim, also by the square of the magnitude that it stands for."""
    params = config.rope_parameters
    all_dim = params.get("mscale_all_dim") if params["rope_type"] != "default" else None
    magnitude = 0.1 * all_dim * math.log(params["factor"]) + 1 if all_dim else 1
    return size**-0.5 * magnitude**2


def deepseek_v3():
    yarn = {"type": "yarn", "factor": 4, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
            "mscale_all_dim": 0.8, "original_max_position_embeddings": 64}  # fmt: skip
    return deepseek_like("deepseek_v3", 3, **V3_ROUTING, q_lora_rank=24, rope_scaling=yarn)


def deepseek_plain():
    return deepseek_like("deepseek_plain", 3, **V3_ROUTING, q_lora_rank=None, rope_scaling=None)


def deepseek_v2():
    yarn = {"type": "yarn", "factor": 4, "beta_fast": 32, "beta_slow": 1, "mscale": 0.707,
            "mscale_all_dim": 0.707, "original_max_position_embeddings": 64}  # fmt: skip
    routing = {"topk_method": "greedy", "norm_topk_prob": False, "routed_scaling_factor": 1.0}
    return deepseek_like("deepseek_v2", 2, **routing, q_lora_rank=None, rope_scaling=yarn)
