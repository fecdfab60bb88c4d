#!/usr/bin/env python3
"""Makes attention_calls.json: what PyTorch computes for calls with groups of heads, windows, tokens
that came before, rotary positions, sequences of several lengths and a second input.

    pip install torch==2.13.* numpy && attention_calls.py > attention_calls.json

Each case is a whole layer, projections included, in float64 and in float32 from the same float32
weights and inputs. Each sequence goes through scaled_dot_product_attention by itself.
"""

import json

import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import linear, scaled_dot_product_attention

DEFAULTS = {
    "batch": 1, "tokens": 0, "d_in": 10, "d_out": 32, "heads": 4, "causal": True, "qkv_bias": False, "d_proj": 6,
    "kv_heads": 0, "window": 0, "rotary": None, "d_memory": 0, "past": 0, "memory_tokens": 0, "lengths": [],
}  # fmt: skip


def rotary(pairs, base=10000, scale=1):
    return {"pairs": pairs, "base": base, "scale": scale}


CASES = {
    "grouped": {"batch": 2, "tokens": 7, "kv_heads": 2},
    "grouped_unmasked": {"tokens": 6, "kv_heads": 2, "causal": False, "qkv_bias": True},
    "multi_query": {"tokens": 5, "heads": 6, "d_out": 48, "kv_heads": 1, "qkv_bias": True, "d_proj": 0},
    "window": {"tokens": 12, "window": 5},
    "window_of_one": {"tokens": 4, "window": 1, "d_proj": 0},
    "past": {"batch": 2, "tokens": 5, "past": 6},
    "past_grouped": {"tokens": 3, "past": 9, "kv_heads": 2, "qkv_bias": True},
    "past_unmasked": {"tokens": 3, "past": 4, "causal": False, "kv_heads": 2},
    "past_window": {"tokens": 6, "past": 6, "window": 4, "kv_heads": 2},
    "step": {"batch": 2, "tokens": 1, "past": 11, "kv_heads": 2},
    "rotary_neighbours": {"tokens": 9, "rotary": rotary("neighbours")},
    "rotary_halves": {"tokens": 9, "kv_heads": 2, "rotary": rotary("halves")},
    "rotary_neighbours_past": {"tokens": 4, "past": 8, "kv_heads": 2, "rotary": rotary("neighbours", 500, 1.5)},
    "rotary_halves_past": {"tokens": 4, "past": 8, "window": 6, "rotary": rotary("halves", 500000, 0.25)},
    "rotary_step": {"tokens": 1, "past": 11, "kv_heads": 2, "rotary": rotary("halves"), "qkv_bias": True},
    "ragged": {"batch": 4, "tokens": 12, "lengths": [3, 0, 12, 1]},
    "ragged_unmasked": {"batch": 3, "tokens": 6, "lengths": [6, 1, 4], "causal": False, "kv_heads": 2},
    "ragged_past": {
        "batch": 3, "tokens": 5, "lengths": [1, 5, 2], "past": 6, "window": 7, "kv_heads": 2, "qkv_bias": True,
        "rotary": rotary("halves"),
    },
    "cross": {"batch": 2, "tokens": 3, "causal": False, "d_memory": 9, "memory_tokens": 8, "kv_heads": 2},
    "cross_bias": {"tokens": 5, "causal": False, "d_memory": 12, "memory_tokens": 3, "qkv_bias": True, "d_proj": 0},
    "cross_ragged": {
        "batch": 3, "tokens": 4, "lengths": [4, 0, 2], "causal": False, "d_memory": 9, "memory_tokens": 5,
    },
}  # fmt: skip


def lengths_of(shape):
    return shape["lengths"] or [shape["tokens"]] * shape["batch"]


def draw(shape):
    """Float32 weights as nn.Linear draws them, and Gaussian inputs. Matrices are d_in x d_out."""
    key_input = shape["d_memory"] or shape["d_in"]
    kv_width = (shape["kv_heads"] or shape["heads"]) * shape["d_out"] // shape["heads"]
    values = {}
    for name, rows, cols, bias in (
        ("query", shape["d_in"], shape["d_out"], shape["qkv_bias"]),
        ("key", key_input, kv_width, shape["qkv_bias"]),
        ("value", key_input, kv_width, shape["qkv_bias"]),
        ("out", shape["d_out"], shape["d_proj"], True),
    ):
        if cols == 0:
            continue
        module = torch.nn.Linear(rows, cols, bias=bias)
        values["w_" + name] = module.weight.detach().T
        if bias:
            values["b_" + name] = module.bias.detach()
    values["x"] = torch.randn(sum(lengths_of(shape)), shape["d_in"])
    if shape["past"]:
        values["past"] = torch.randn(shape["batch"] * shape["past"], key_input)
    if shape["d_memory"]:
        values["memory"] = torch.randn(shape["batch"] * shape["memory_tokens"], key_input)
    return values


def turn(heads, first, options):
    """Rotary positions from `first` on; heads are H x T x head_dim. Angles in float64, rounded once."""
    if options is None:
        return heads
    width = heads.shape[-1]
    positions = torch.arange(first, first + heads.shape[-2], dtype=torch.float64) * options["scale"]
    frequencies = options["base"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.outer(positions, frequencies)
    if options["pairs"] == "neighbours":  # as complex numbers
        turns = torch.complex(angles.cos().to(heads.dtype), angles.sin().to(heads.dtype))
        numbers = torch.view_as_complex(heads.reshape(*heads.shape[:-1], -1, 2).contiguous())
        return torch.view_as_real(numbers * turns).flatten(-2)
    cosine, sine = (f(torch.cat([angles, angles], -1)).to(heads.dtype) for f in (torch.cos, torch.sin))
    a, b = heads.chunk(2, -1)
    return heads * cosine + torch.cat([-b, a], -1) * sine


def mask_of(shape, rows, keys):
    """PyTorch's own notion of a mask wherever it has one."""
    if not shape["causal"]:
        return {}
    if not shape["window"]:
        return {"attn_mask": causal_lower_right(rows, keys)} if keys > rows else {"is_causal": True}
    row = torch.arange(keys - rows, keys).unsqueeze(1)
    key = torch.arange(keys).unsqueeze(0)
    return {"attn_mask": (key <= row) & (key > row - shape["window"])}


def attend(shape, values, queries, tokens):
    """One sequence: the projected rows of x, and what its keys and values are made of."""

    def heads(projected, count):
        return projected.view(projected.shape[0], count, -1).transpose(0, 1)

    key_heads = shape["kv_heads"] or shape["heads"]
    q = heads(queries, shape["heads"])
    k, v = (
        heads(linear(tokens, values["w_" + name].T, values.get("b_" + name)), key_heads)
        for name in ("key", "value")
    )
    first = 0 if shape["d_memory"] else shape["past"]
    q, k = turn(q, first, shape["rotary"]), turn(k, 0, shape["rotary"])
    result = scaled_dot_product_attention(
        q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0),
        enable_gqa=key_heads != shape["heads"], **mask_of(shape, q.shape[1], k.shape[1]),
    )  # fmt: skip
    return result.squeeze(0).transpose(0, 1).reshape(q.shape[1], shape["d_out"])


def run(shape, values, dtype):
    values = {name: value.to(dtype) for name, value in values.items()}
    queries = linear(values["x"], values["w_query"].T, values.get("b_query"))
    merged = []
    row = 0
    for s, length in enumerate(lengths_of(shape)):
        tokens = values["x"][row : row + length]
        if shape["d_memory"]:
            tokens = values["memory"][s * shape["memory_tokens"] : (s + 1) * shape["memory_tokens"]]
        if shape["past"]:
            tokens = torch.cat([values["past"][s * shape["past"] : (s + 1) * shape["past"]], tokens])
        if length:
            merged.append(attend(shape, values, queries[row : row + length], tokens))
        row += length
    y = torch.cat(merged)
    return linear(y, values["w_out"].T, values["b_out"]) if shape["d_proj"] else y


def text(tensor):
    """A matrix on one line, its digits as many as name each number exactly."""
    digits = 17 if tensor.dtype == torch.float64 else 9
    numbers = ", ".join(f"{value:.{digits}g}" for value in tensor.flatten().tolist())
    return f'{{"shape": {json.dumps(list(tensor.shape))}, "data": [{numbers}]}}'


def main():
    cases = []
    for seed, (name, options) in enumerate(CASES.items()):
        torch.manual_seed(seed)
        shape = DEFAULTS | options
        values = draw(shape)
        values["y"] = run(shape, values, torch.float32)
        values["y_float64"] = run(shape, {n: v for n, v in values.items() if n != "y"}, torch.float64)
        lines = [f'"layer": {json.dumps(shape)}'] + [f'"{n}": {text(v)}' for n, v in values.items()]
        cases.append(f' "{name}": {{\n  ' + ",\n  ".join(lines) + "\n }")
    about = f"PyTorch {torch.__version__}, CPU, by attention_calls.py; w_* are d_in x d_out, y = x W + b"
    print(f'{{\n"produced_with": {json.dumps(about)},\n"cases": {{\n' + ",\n".join(cases) + "\n}}")


if __name__ == "__main__":
    main()
