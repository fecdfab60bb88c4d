"""Attention in float64 with PyTorch, for tests and for the script that makes their data."""

import torch
from torch.nn.functional import linear, scaled_dot_product_attention


def rotate(x, base):
    """Turns the two halves of each head against each other, as models for `transformers` do."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * base ** (
        -torch.arange(half, dtype=torch.float64) / half
    )
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def attend(x, query, key, value, output, heads, kv_heads, causal, rotary=None):
    """Each of the four is (weight as nn.Linear has it, bias or None)."""
    x = x.double()

    def project(pair, count):
        y = linear(x, pair[0].double(), None if pair[1] is None else pair[1].double())
        return y.unflatten(-1, (count, -1)).transpose(-2, -3)

    q, k, v = project(query, heads), project(key, kv_heads), project(value, kv_heads)
    if rotary:
        q, k = rotate(q, rotary), rotate(k, rotary)
    k, v = (t.repeat_interleave(heads // kv_heads, -3) for t in (k, v))
    context = scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(-2, -3).flatten(-2)
    return linear(context, output[0].double(), None if output[1] is None else output[1].double())
