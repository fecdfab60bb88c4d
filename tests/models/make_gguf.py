#!/usr/bin/env python3
"""Writes some layers of tests/data/models as GGUF files, with the package that converters use.

    pip install gguf==0.19.* numpy && make_gguf.py

Tensors have the names, the order of rows and the additions of llama.cpp's converters. Beside the layers
there is what else such files hold: a vocabulary, and tensors of packed types.
"""

import json
import pathlib
import struct

import gguf
import numpy

DATA = pathlib.Path(__file__).parents[1] / "data"
MODELS = {"qwen3": "qwen3", "llama3": "llama", "gemma2": "gemma2", "gpt_oss": "gpt-oss"}
PACKED = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
NAMES = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output",
         "q_norm": "attn_q_norm", "k_norm": "attn_k_norm", "sinks": "attn_sinks"}


def read_tensors(path):
    """Float32 tensors of a safetensors file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = numpy.frombuffer(data[first:last], numpy.float32).reshape(entry["shape"])
    return tensors


def with_neighbours(rows, heads):
    """Rows of a head that are turned together, which lie half a head apart, side by side."""
    halves = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def llama3_factors(config, rope):
    """What the frequencies are divided by, as the converter of Llama computes it."""
    width = config["head_dim"]
    frequencies = rope["rope_theta"] ** -(numpy.arange(0, width, 2) / width)
    original = rope["original_max_position_embeddings"]
    low, high = original / rope["low_freq_factor"], original / rope["high_freq_factor"]
    factors = []
    for wavelength in 2 * numpy.pi / frequencies:
        smooth = (original / wavelength - rope["low_freq_factor"]) / (
            rope["high_freq_factor"] - rope["low_freq_factor"])
        factors.append(1 if wavelength < high else rope["factor"] if wavelength > low
                       else 1 / ((1 - smooth) / rope["factor"] + smooth))
    return numpy.array(factors, numpy.float32)


def write_metadata(writer, config):
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    rope = config["rope_parameters"]
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])
    if config.get("attn_logit_softcapping"):
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if config.get("query_pre_attn_scalar"):
        writer.add_attention_scale(config["query_pre_attn_scalar"] ** -0.5)
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])


def write_vocabulary(writer):
    tokens = [f"<token {i}>" for i in range(60)]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types([1] * len(tokens))
    writer.add_chat_template("{{ messages }}" * 40)


def convert(folder, architecture, ending="", kinds=None):
    """kinds: of packed tensors, by part"""
    config = json.loads((DATA / "models" / folder / "config.json").read_text())
    writer = gguf.GGUFWriter(DATA / "gguf" / f"{folder}{ending}.gguf", architecture)
    writer.add_name(folder)
    write_metadata(writer, config)
    write_vocabulary(writer)
    if config["rope_parameters"]["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(config, config["rope_parameters"]))
    random = numpy.random.default_rng(1)
    packed = gguf.quants.quantize(random.standard_normal((4, 32), numpy.float32),
                                  gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("token_embd.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    tensors = read_tensors(DATA / "models" / folder / "model.safetensors")
    for name, values in sorted(tensors.items()):
        if ".layers.1.self_attn." not in name:
            continue
        part, _, kind = name.split("self_attn.")[1].partition(".")
        if architecture == "llama" and part in ("q_proj", "k_proj"):
            heads = config["num_attention_heads" if part == "q_proj" else "num_key_value_heads"]
            values = with_neighbours(values, heads)
        if architecture.startswith("gemma") and part.endswith("norm"):
            values = values + 1
        values = numpy.ascontiguousarray(values)
        packed_as = gguf.GGMLQuantizationType[(kinds or {}).get(part, "F32")]
        if packed_as != gguf.GGMLQuantizationType.F32:
            values = gguf.quants.quantize(values, packed_as)
        writer.add_tensor(f"blk.1.{NAMES[part]}.{kind or 'weight'}", values, raw_dtype=packed_as)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def packed_rows(kind, random):
    """Four rows of 256 values; of types that the package does not write, any bits with scales that are numbers."""
    try:
        return gguf.quants.quantize(random.standard_normal((4, 256), numpy.float32), kind)
    except NotImplementedError:
        _, size = gguf.GGML_QUANT_SIZES[kind]
        rows = random.integers(0, 256, (4, size), numpy.uint8)
        places = {"Q6_K": [208]}.get(kind.name, [0, 2])
        for place in places:
            scales = random.uniform(-1e-2, 1e-2, 4).astype(numpy.float16)
            rows[:, place:place + 2] = scales.view(numpy.uint8).reshape(4, 2)
        return rows


def write_packed():
    """A tensor of each packed type that becomes weights, and beside it its values as the package reads them."""
    writer = gguf.GGUFWriter(DATA / "gguf" / "packed.gguf", "llama")
    random = numpy.random.default_rng(2)
    for name in PACKED:
        kind = gguf.GGMLQuantizationType[name]
        rows = packed_rows(kind, random)
        writer.add_tensor(name, rows, raw_dtype=kind)
        writer.add_tensor(f"{name}.values", gguf.quants.dequantize(rows, kind).astype(numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    (DATA / "gguf").mkdir(exist_ok=True)
    for folder, architecture in MODELS.items():
        convert(folder, architecture)
    convert("qwen3", "qwen3", "_packed",
            {"q_proj": "Q8_0", "k_proj": "Q4_0", "v_proj": "Q5_0", "o_proj": "Q4_1"})
    write_packed()


if __name__ == "__main__":
    main()
