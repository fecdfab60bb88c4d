"""Encoders, and models of an encoder and a decoder: as decoders.py."""

from layers import Family, Layer, Projection, biases_of, features, rope_of


def plain_heads(heads, size, **more):
    """As many key heads as heads, nothing causal."""
    return features(**{"heads": heads, "kv_heads": heads, "head_dim": size, "value_dim": size,
                       "scale": size**-0.5, "causal": False, **more})  # fmt: skip


def three(names, width):
    return [Projection(name, [[part, width]]) for name, part in zip(names, "qkv")]


# --- ModernBERT


def modernbert():
    published = {
        "architectures": ["ModernBertForMaskedLM"], "model_type": "modernbert", "vocab_size": 99,
        "hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 256, "norm_eps": 1e-5,
        "norm_bias": False, "attention_bias": False, "attention_dropout": 0.0,
        "global_attn_every_n_layers": 2, "global_rope_theta": 500.0, "local_rope_theta": 20.0,
        "local_attention": 6, "layer_norm_eps": 1e-5, "mlp_bias": False, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2,
        "position_embedding_type": "absolute", "torch_dtype": "float32",
    }  # fmt: skip

    def layers(model):
        reach = model.config.local_attention // 2
        return [
            modernbert_layer(model, 0, "full", "full_attention"),
            modernbert_layer(model, 1, "sliding", "sliding_attention", window=reach,
                             window_both=True),
        ]  # fmt: skip

    return Family("ModernBERT", "modernbert", published, layers, auto="AutoModelForMaskedLM")


def modernbert_layer(model, index, kind, rope_kind, **more):
    config, width = model.config, model.config.hidden_size
    heads, path = config.num_attention_heads, f"model.layers.{index}.attn"
    given = plain_heads(heads, width // heads, **rope_of(model, rope_kind), **more)
    fused = Projection("Wqkv", [["q", width], ["k", width], ["v", width]])
    return Layer(index, kind, path, given, [fused], "Wo")


# --- BERT, RoBERTa, ViT


def bert_like(name, folder, architecture, **more):
    published = {
        "architectures": [architecture], "model_type": folder, "vocab_size": 99, "hidden_size": 32,
        "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "attention_probs_dropout_prob": 0.1, "hidden_dropout_prob": 0.1, "pad_token_id": 0,
        "position_embedding_type": "absolute", **more,
    }  # fmt: skip

    def layers(model):
        config, path = model.config, f"{folder}.encoder.layer.1.attention"
        heads, width = config.num_attention_heads, config.hidden_size
        given = plain_heads(heads, width // heads, biases="qkvo")
        linears = three(("query", "key", "value"), width)
        return [Layer(1, "full", path + ".self", given, linears,
                      output_path=path + ".output.dense")]  # fmt: skip

    return Family(name, folder, published, layers, auto="AutoModelForMaskedLM")


def bert():
    return bert_like("BERT", "bert", "BertForMaskedLM")


def roberta():
    return bert_like("RoBERTa", "roberta", "RobertaForMaskedLM", layer_norm_eps=1e-5,
                     pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1)  # fmt: skip


def vit():
    published = {
        "architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": 32,
        "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0, "layer_norm_eps": 1e-12,
        "image_size": 16, "patch_size": 4, "num_channels": 3, "qkv_bias": True,
    }  # fmt: skip

    def layers(model):
        config, path = model.config, "vit.layers.1.attention"
        heads, width = config.num_attention_heads, config.hidden_size
        module = model.get_submodule(path)
        biases = biases_of(module, ("q_proj", "k_proj", "v_proj", "o_proj"))
        given = plain_heads(heads, width // heads, biases=biases)
        return [Layer(1, "full", path, given, three(("q_proj", "k_proj", "v_proj"), width))]

    return Family("ViT", "vit", published, layers, auto="AutoModelForImageClassification")


# --- Whisper


def whisper():
    published = {
        "architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper",
        "vocab_size": 99, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16, "num_mel_bins": 8, "max_source_positions": 15,
        "max_target_positions": 32, "is_encoder_decoder": True, "dropout": 0.0,
        "attention_dropout": 0.0, "activation_function": "gelu", "scale_embedding": False,
        "decoder_start_token_id": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "torch_dtype": "float32",
    }  # fmt: skip

    def layers(model):
        decoder = "model.decoder.layers.0."
        return [
            whisper_layer(model, "encoder", "model.encoder.layers.0.self_attn"),
            whisper_layer(model, "decoder", decoder + "self_attn", causal=True),
            whisper_layer(model, "cross", decoder + "encoder_attn", cross=True),
        ]

    auto = "AutoModelForSpeechSeq2Seq"
    return Family("Whisper", "whisper", published, layers, auto=auto)


def whisper_layer(model, kind, path, **more):
    config = model.config
    cross, width, heads = more.get("cross", False), config.d_model, config.encoder_attention_heads
    module, names = model.get_submodule(path), ("q_proj", "k_proj", "v_proj")
    biases = biases_of(module, (*names, "out_proj"))
    given = plain_heads(heads, width // heads, biases=biases, **more)
    linears = three(names, width)
    for linear in linears[1:]:
        linear.input = "memory" if cross else "x"
    return Layer(0, kind, path, given, linears, "out_proj", tokens=13, name=kind + "0")


# --- T5


def t5():
    published = {
        "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "vocab_size": 99,
        "d_model": 32, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_decoder_layers": 2,
        "num_heads": 4, "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 16, "dropout_rate": 0.1, "layer_norm_epsilon": 1e-6,
        "feed_forward_proj": "relu", "is_encoder_decoder": True, "decoder_start_token_id": 0,
        "pad_token_id": 0, "eos_token_id": 1,
    }  # fmt: skip

    def layers(model):
        return [
            t5_layer(model, 0, "encoder", "layer.0.SelfAttention"),
            t5_layer(model, 1, "encoder", "layer.0.SelfAttention"),
            t5_layer(model, 0, "decoder", "layer.0.SelfAttention", causal=True),
            t5_layer(model, 0, "cross", "layer.1.EncDecAttention", cross=True),
        ]

    return Family("T5", "t5", published, layers, auto="AutoModelForSeq2SeqLM", gain=0.85)


def t5_layer(model, index, kind, local, **more):
    config, cross = model.config, more.get("cross", False)
    stack = "encoder" if kind == "encoder" else "decoder"
    heads, size = config.num_heads, config.d_kv
    buckets, elsewhere = None, {}
    if not cross:
        table = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        elsewhere = {"relative_bias": table}
        buckets = {"num_buckets": config.relative_attention_num_buckets,
                   "max_distance": config.relative_attention_max_distance,
                   "bidirectional": stack == "encoder"}  # fmt: skip
    given = plain_heads(heads, size, **{"scale": 1.0, "buckets": buckets, **more})
    linears = three("qkv", heads * size)
    for linear in linears[1:]:
        linear.input = "memory" if cross else "x"
    return Layer(index, kind, f"{stack}.block.{index}.{local}", given, linears, "o",
                 elsewhere=elsewhere, tokens=14, name=f"{kind}{index}",
                 memory_tokens=11 if cross else 18)  # fmt: skip
