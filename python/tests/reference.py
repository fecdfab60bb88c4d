"""The layer in float64, as the definition reads, and the limits that results are held to."""

import json
import struct

import numpy as np

# Those of the project's comparator: nrmse, and the largest error over the rms.
NRMSE_LIMIT = 5e-6
MAX_OVER_RMS_LIMIT = 5e-5


def close(got, want):
    """Whether a float32 result is as good as the project demands of every backend."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    if got.size == 0:
        return True
    rms = np.sqrt(np.mean(want**2))
    error = np.abs(got - want)
    nrmse = np.sqrt(np.mean(error**2)) / rms
    return bool(nrmse <= NRMSE_LIMIT and error.max() / rms <= MAX_OVER_RMS_LIMIT)


def rotated(x, pairs, base, scale, first=0):
    """Rows (heads, tokens, head_dim) turned by their positions."""
    tokens, dim = x.shape[-2:]
    angle = (first + np.arange(tokens))[:, None] * scale * base ** (-2 * np.arange(dim // 2) / dim)
    sin, cos = np.sin(angle), np.cos(angle)
    if pairs == "halves":
        a, b = x[..., : dim // 2], x[..., dim // 2 :]
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)


def attention(
    x, query, key, value, output=None, *, heads, query_bias=0, key_bias=0, value_bias=0,
    output_bias=0, causal=True, window=None, rotary=None, rotary_base=10000.0, rotary_scale=1.0,
    memory=None, mask=None,
):  # fmt: skip
    """One sequence, (tokens, d_in); a mask (heads, tokens, keys) or what broadcasts to it."""
    keys = x if memory is None else memory
    dim = query.shape[1] // heads

    def split(rows, matrix, bias):
        product = rows.astype(np.float64) @ matrix.astype(np.float64) + bias
        return product.reshape(len(rows), -1, dim).transpose(1, 0, 2)

    q, k, v = (
        split(x, query, query_bias),
        split(keys, key, key_bias),
        split(keys, value, value_bias),
    )
    if rotary is not None:
        q, k = (rotated(one, rotary, rotary_base, rotary_scale) for one in (q, k))
    group = heads // len(k)
    k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(dim)
    row, col = np.arange(len(x))[:, None], np.arange(len(keys))[None]
    if causal and memory is None:
        scores = np.where(col > row, -np.inf, scores)
    if window is not None:
        scores = np.where(col <= row - window, -np.inf, scores)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = weights.sum(-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    context = (weights @ v).transpose(1, 0, 2).reshape(len(x), -1)
    return context if output is None else context @ output.astype(np.float64) + output_bias


def definition(q, k, v, mask=None, causal=False, scale=None, window=None, softcap=None, sinks=None):
    """In double precision, of ``(batch, heads, tokens, head_dim)``; causal from the last key."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5)
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    tokens, keys = scores.shape[2:]
    distance = np.arange(tokens)[:, None] + keys - tokens - np.arange(keys)[None]
    if causal:
        scores[..., distance < 0] = -np.inf
    if window is not None:
        scores[..., abs(distance) >= window] = -np.inf
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    most = scores.max(axis=3, keepdims=True)
    if sinks is not None:
        sinks = sinks.astype(np.float64)[None, :, None, None]
        most = np.maximum(most, sinks)
    most = np.where(np.isinf(most), 0, most)
    weights = np.exp(scores - most)
    total = weights.sum(axis=3, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks - most)
    return weights / np.where(total == 0, 1, total) @ v


def arrays(path):
    """Of a safetensors file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    types = {"F32": np.float32, "F64": np.float64}
    return {
        name: np.frombuffer(data[8 + size :][slice(*one["data_offsets"])], types[one["dtype"]])
        .reshape(one["shape"])
        .copy()
        for name, one in header.items()
    }
