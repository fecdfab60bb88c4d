"""Models of transformers that are small enough for a test, made of random weights."""

import copy

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForTokenClassification,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# Whichever of these a configuration has; the names of one thing differ from model to model.
_SIZES = {
    **dict.fromkeys(("vocab_size", "max_position_embeddings", "n_positions", "n_ctx"), 64),
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "embedding_size"), 32),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "n_inner"), 48),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "attention_heads"), 4),
    **dict.fromkeys(("swa_num_attention_heads",), 4),
    **dict.fromkeys(("num_key_value_heads", "swa_num_key_value_heads"), 2),
    **dict.fromkeys(("head_dim", "d_kv", "swa_head_dim", "qk_rope_head_dim"), 8),
    **dict.fromkeys(("qk_nope_head_dim", "v_head_dim"), 8),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "index_head_dim"), 16),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 24),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "index_n_heads", "type_vocab_size"), 2),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace", "n_shared_experts"), 1),
    **dict.fromkeys(("pad_token_id", "num_hash_layers"), 0),
    **dict.fromkeys(("bos_token_id", "decoder_start_token_id"), 1),
    **dict.fromkeys(("attention_dropout", "attn_pdrop", "dropout"), 0.0),
    "eos_token_id": 2,
    "hc_mult": 2,
    "index_topk": 3,
    "rotary_dim": 4,
    "sliding_window": 5,
    "sliding_window_size": 5,
    "unpadded_vocab_size": 64,
}


def config_of(kind, **more):
    """With two layers of 32 values."""
    make = CONFIG_MAPPING[kind]
    names = set(make().to_dict()) | set(make.attribute_map)
    sizes = {name: size for name, size in _SIZES.items() if name in names}
    if "qk_rope_head_dim" in sizes:  # it has no other, and as many keys as heads
        sizes.pop("head_dim", None)
        sizes["num_key_value_heads"] = 4
    return make(**{**sizes, **more})


def knows(kind):
    return kind in CONFIG_MAPPING


def auto_of(config, masked):
    if config.is_encoder_decoder:
        return AutoModelForSeq2SeqLM
    if masked:
        return AutoModelForMaskedLM
    generates = type(config) in AutoModelForCausalLM._model_mapping
    return AutoModelForCausalLM if generates else AutoModelForTokenClassification


def make(config, implementation, masked=False):
    """Without weights that are worth anything."""
    return (
        auto_of(config, masked)
        .from_config(
            copy.deepcopy(config),
            attn_implementation=implementation,
            experts_implementation="eager",  # the others know no float64
        )
        .eval()
    )


def draw(model):
    """Weights of which every part shows in the result, sinks and biases included."""
    for name, weights in model.named_parameters():
        wide = weights.dim() > 1
        scale = 2.5 / weights.shape[-1] ** 0.5 if wide else 1.0 if "sink" in name else 0.3
        torch.nn.init.normal_(weights, std=scale)


def logits(model, tokens, mask=None):
    decoder = {"decoder_input_ids": tokens} if model.config.is_encoder_decoder else {}
    return model(input_ids=tokens, attention_mask=mask, **decoder).logits
