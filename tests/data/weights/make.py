#!/usr/bin/env python3
"""Makes the models of this folder: one small attention layer in each layout, written by the packages
that write real ones, with an input and what PyTorch computes for it in float64.

    pip install torch==2.13.* safetensors numpy && make.py

Of each model `x.npy` goes through the layer, and `y.npy` comes out, both float64 but for the rounding
of x and the weights to what is stored.
"""

import json
import pathlib
import sys

import numpy
import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "weights"))

from torch_attention import attend  # noqa: E402


def save(name, x, y, config=None):
    folder = HERE / name
    numpy.save(folder / "x.npy", x.numpy())
    numpy.save(folder / "y.npy", y.numpy())
    if config:
        (folder / "config.json").write_text(json.dumps(config) + "\n")


def folder_of(name):
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    return folder


def normal(*shape, dtype=torch.float32):
    return (torch.randn(shape) / shape[-1] ** 0.5).to(dtype)


def gpt2():
    """In x out, float16, as GPT-2's Conv1D stores them; two layers."""
    width, heads = 24, 3
    tensors = {}
    for layer in range(2):
        prefix = f"h.{layer}.attn."
        tensors[prefix + "c_attn.weight"] = normal(width, 3 * width, dtype=torch.float16)
        tensors[prefix + "c_attn.bias"] = normal(3 * width, dtype=torch.float16)
        tensors[prefix + "c_proj.weight"] = normal(width, width, dtype=torch.float16)
        tensors[prefix + "c_proj.bias"] = normal(width, dtype=torch.float16)
        tensors[prefix + "bias"] = torch.ones(1, 1, 8, 8, dtype=torch.uint8).tril()
    save_file(tensors, folder_of("gpt2") / "model.safetensors", {"format": "pt"})
    x = torch.randn(2, 7, width)
    weight, bias = tensors["h.1.attn.c_attn.weight"].T, tensors["h.1.attn.c_attn.bias"]
    parts = list(zip(weight.chunk(3), bias.chunk(3)))
    output = (tensors["h.1.attn.c_proj.weight"].T, tensors["h.1.attn.c_proj.bias"])
    save("gpt2", x, attend(x, *parts, output, heads, heads, True), {"model_type": "gpt2", "n_head": heads})


def llama():
    """Grouped heads and rotary positions, bfloat16, in two files with an index."""
    width, heads, kv_heads, head_dim = 20, 6, 2, 4
    prefix = "model.layers.0.self_attn."
    sizes = {"q_proj": (heads, width), "k_proj": (kv_heads, width), "v_proj": (kv_heads, width)}
    tensors = {
        f"{prefix}{name}.weight": normal(count * head_dim, inputs, dtype=torch.bfloat16)
        for name, (count, inputs) in sizes.items()
    }
    tensors[prefix + "o_proj.weight"] = normal(width, heads * head_dim, dtype=torch.bfloat16)
    names = sorted(tensors)
    folder = folder_of("llama")
    files = {names[0]: 1, names[1]: 2, names[2]: 1, names[3]: 2}
    for part in (1, 2):
        save_file({n: tensors[n] for n in names if files[n] == part}, folder / f"model-{part}-of-2.safetensors")
    index = {
        "metadata": {"total_size": sum(2 * t.numel() for t in tensors.values())},
        "weight_map": {n: f"model-{files[n]}-of-2.safetensors" for n in names},
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    x = torch.randn(11, width)
    q, k, v, o = ((tensors[f"{prefix}{n}_proj.weight"], None) for n in "qkvo")
    config = {
        "model_type": "llama", "num_attention_heads": heads, "num_key_value_heads": kv_heads,
        "head_dim": head_dim, "rope_theta": 500000.0,
    }  # fmt: skip
    save("llama", x, attend(x, q, k, v, o, heads, kv_heads, True, 500000.0), config)


def bert():
    """Biases everywhere and no mask, as a folder of .npy files, one of them in Fortran order."""
    width, heads = 16, 4
    prefix = "encoder.layer.5.attention."
    pairs = [(normal(width, width), normal(width)) for _ in range(4)]
    folder = folder_of("bert")
    for name, (weight, bias) in zip(("self.query", "self.key", "self.value", "output.dense"), pairs):
        array = weight.numpy()
        numpy.save(folder / f"{prefix}{name}.weight.npy", numpy.asfortranarray(array) if "key" in name else array)
        numpy.save(folder / f"{prefix}{name}.bias.npy", bias.numpy().astype("f8" if "value" in name else "f4"))
    x = torch.randn(9, width)
    arrays = folder_of("bert_call")
    numpy.save(arrays / "x.npy", x.numpy())
    numpy.save(arrays / "y.npy", attend(x, *pairs, heads, heads, False).numpy())


def module():
    """torch.nn.MultiheadAttention's own state_dict, and what the module itself computes."""
    width, heads = 18, 3
    module = torch.nn.MultiheadAttention(width, heads, batch_first=True, dtype=torch.float64)
    torch.nn.init.normal_(module.in_proj_bias)
    torch.nn.init.normal_(module.out_proj.bias)
    module.load_state_dict({n: t.float().double() for n, t in module.state_dict().items()})
    state = {n: t.float() for n, t in module.state_dict().items()}
    save_file(state, folder_of("torch") / "model.safetensors")
    x = torch.randn(3, 5, width)
    save("torch", x, module(x.double(), x.double(), x.double(), need_weights=False)[0].detach())


if __name__ == "__main__":
    torch.manual_seed(123)
    for make in (gpt2, llama, bert, module):
        make()
