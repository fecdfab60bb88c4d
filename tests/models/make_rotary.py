#!/usr/bin/env python3
"""Makes tests/data/rotary: layers that are turned by positions of their own, or otherwise in long
contexts, with what transformers computes of them.

    make_rotary.py, with the packages of make_models.py

qwen2_vl and qwen3_vl are called with three positions for each token: a text, a picture and a text
after it. llama_dynamic and phi_longrope are called several times with a cache. Each folder has

    published.json      the configuration as checkpoints of the family spell it
    config.json         the same as this version of transformers writes it
    model.safetensors   float32, the tensors of the layer
    calls.safetensors   `x` of all calls, `expected` in float64, the rows of each call (`rows`), and
                        `positions` (3 x tokens) where the calls give them
"""

import json
import pathlib

import torch
import transformers
from make_models import draw, keep_output, normal, round_to_f32, widen
from safetensors.torch import save_file
from transformers.models.qwen2_vl import modeling_qwen2_vl
from transformers.models.qwen3_vl import modeling_qwen3_vl

FOLDER = pathlib.Path(__file__).parents[1] / "data" / "rotary"
SIZES = {
    "vocab_size": 99, "hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5, "rope_theta": 100.0,
}  # fmt: skip
MROPE = {"type": "mrope", "mrope_section": [1, 1, 2]}
TURNS = {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True}
SHORT = {**SIZES, "max_position_embeddings": 16}
DYNAMIC = {"type": "dynamic", "factor": 4.0}
LONGROPE = {"type": "longrope", "short_factor": [1.0, 1.1, 1.3, 1.5],
            "long_factor": [1.2, 2.0, 5.0, 9.0]}  # fmt: skip


def a_picture(before=5, height=4, width=3, after=7):
    """Positions as `get_rope_index` makes them: a picture has one time, and the text after it goes
    on behind the largest position."""
    text = [(i, i, i) for i in range(before)]
    picture = [(before, before + y, before + x) for y in range(height) for x in range(width)]
    first = before + max(height, width)
    text_after = [(first + i,) * 3 for i in range(after)]
    return torch.tensor(text + picture + text_after).T[:, None]


def run_calls(model, rows, positions=None):
    """The attention of the last layer, of random inputs, call after call with one cache."""
    module = model.layers[-1].self_attn
    xs, outputs = [], []

    def replace(_, args, kwargs):
        kwargs["hidden_states"] = normal(*kwargs["hidden_states"].shape)
        xs.append(kwargs["hidden_states"][0])
        return args, kwargs

    def keep(_, args, output):
        kept = {}
        keep_output(kept)(module, args, output)
        outputs.append(kept["expected"][0])

    module.register_forward_pre_hook(replace, with_kwargs=True)
    module.register_forward_hook(keep)
    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        for count in rows:
            given = {} if positions is None else {"position_ids": positions}
            embedded = normal(1, count, model.config.hidden_size)
            cached = {"use_cache": False} if positions is not None else {"cache": cache}
            model(inputs_embeds=embedded, **cached, **given)
    calls = {"x": torch.cat(xs).to(torch.float32), "expected": torch.cat(outputs),
             "rows": torch.tensor(rows).double()}  # fmt: skip
    if positions is not None:
        calls["positions"] = positions[:, 0].double()
    return {name: part.contiguous() for name, part in calls.items()}


def make(name, model_class, config, published, rows, positions=None):
    torch.manual_seed(34)
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    config._attn_implementation = "eager"
    model = model_class(config).double().eval()
    draw(model, 1.4)
    (folder / "published.json").write_text(json.dumps(published, indent=1) + "\n")
    written = json.loads(config.to_json_string(use_diff=False))
    kept = {k: v for k, v in written.items() if v is not None and not k.startswith("_")}
    (folder / "config.json").write_text(json.dumps(kept, indent=1) + "\n")
    own = {
        f"model.{n}": round_to_f32(t).float().to(torch.float32)
        for n, t in model.state_dict().items()
        if "layers.1.self_attn" in n and "rotary" not in n
    }
    save_file(own, folder / "model.safetensors", {"format": "pt"})
    save_file(run_calls(model, rows, positions), folder / "calls.safetensors")


def main():
    torch.set_default_dtype(torch.float64)
    for family in ("qwen2_vl_text", "qwen3_vl_text", "llama", "phi3"):
        widen(family)
    picture = a_picture()
    tokens = [picture.shape[2]]
    flat = {**SIZES, "model_type": "qwen2_vl", "rope_scaling": MROPE}
    make("qwen2_vl", modeling_qwen2_vl.Qwen2VLTextModel,
         modeling_qwen2_vl.Qwen2VLTextConfig(**SIZES, rope_scaling=dict(MROPE)), flat, tokens,
         picture)  # fmt: skip
    text = {**SIZES, "head_dim": 16, "model_type": "qwen3_vl_text", "rope_scaling": TURNS}
    nested = {"model_type": "qwen3_vl", "text_config": text}
    own = {**SIZES, "head_dim": 16, "rope_scaling": dict(TURNS)}
    make("qwen3_vl", modeling_qwen3_vl.Qwen3VLTextModel,
         modeling_qwen3_vl.Qwen3VLTextConfig(**own), nested, tokens, picture)  # fmt: skip
    make("llama_dynamic", transformers.LlamaModel,
         transformers.LlamaConfig(**SHORT, rope_scaling=dict(DYNAMIC)),
         {**SHORT, "model_type": "llama", "rope_scaling": DYNAMIC}, [9, 11, 1, 1])  # fmt: skip
    phi = {**SIZES, "original_max_position_embeddings": 16}
    make("phi_longrope", transformers.Phi3Model,
         transformers.Phi3Config(**phi, pad_token_id=0, rope_scaling=dict(LONGROPE)),
         {**phi, "model_type": "phi3", "rope_scaling": LONGROPE}, [20, 1, 1])  # fmt: skip


if __name__ == "__main__":
    main()
