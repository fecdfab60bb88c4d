#!/usr/bin/env python3
"""Computes the attention layers of tests/data/models from their features, and compares.

    pip install numpy safetensors && check_models.py [--bite] [FOLDER ...]

One function for all families, in float64, of nothing but config.json, model.safetensors and the
entries of models.json: the definition of what each feature means. Prints for each layer the error
against what the model's own code gave, and how far scores spread. With `--bite` every feature of a
layer is taken away in turn, and the result has to change: data that cannot tell prove nothing.
"""

import json
import math
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file

FOLDER = pathlib.Path(__file__).parents[1] / "data" / "models"
LIMIT = 1e-10
BITE = 1e-4


# --- Norms


def rms_norm(x, weight, eps, plus_one=False):
    """Over the last axis."""
    normed = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)
    return normed * (1 + weight if plus_one else weight)


def l2_norm(x, eps):
    return rms_norm(x, 1.0, eps)


# --- Rotary frequencies, radians a position, one for each pair


def plain_frequencies(base, rotary_dim):
    return base ** (-np.arange(0, rotary_dim, 2) / rotary_dim)


def llama3_frequencies(base, rotary_dim, params):
    plain = plain_frequencies(base, rotary_dim)
    turns = params["original_max_position_embeddings"] * plain / (2 * math.pi)
    low, high = params["low_freq_factor"], params["high_freq_factor"]
    if high == low:  # Llama 4: nothing between the two
        kept = (turns >= low).astype("f8")
    else:
        kept = np.clip((turns - low) / (high - low), 0, 1)
    return plain / params["factor"] * (1 - kept) + plain * kept


def yarn_frequencies(base, rotary_dim, params):
    def dimension(turns):
        length = params["original_max_position_embeddings"] / (turns * 2 * math.pi)
        return rotary_dim * math.log(length) / (2 * math.log(base))

    low, high = dimension(params.get("beta_fast") or 32), dimension(params.get("beta_slow") or 1)
    if params.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rotary_dim - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(rotary_dim // 2) - low) / (high - low), 0, 1)
    plain = plain_frequencies(base, rotary_dim)
    return plain / params["factor"] * ramp + plain * (1 - ramp)


def longrope_frequencies(base, rotary_dim, params, length):
    is_long = length > params["original_max_position_embeddings"]
    factors = np.array(params["long_factor" if is_long else "short_factor"])
    return plain_frequencies(base, rotary_dim) / factors


def frequencies(layer, length):
    """`length` is the largest position of the call, plus one."""
    base, dim, params = layer["rope_base"], layer["rotary_dim"], layer["rope_params"]
    if layer["rope_type"] == "linear":
        return plain_frequencies(base, dim) / params["factor"]
    if layer["rope_type"] == "llama3":
        return llama3_frequencies(base, dim, params)
    if layer["rope_type"] == "yarn":
        return yarn_frequencies(base, dim, params)
    if layer["rope_type"] == "longrope":
        return longrope_frequencies(base, dim, params, length)
    assert layer["rope_type"] == "default"
    return plain_frequencies(base, dim)


def yarn_magnitude(factor, mscale=1.0):
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


def attention_factor(layer, config):
    """What cos and sin are multiplied by."""
    params = layer["rope_params"] or {}
    if params.get("attention_factor") is not None:
        return params["attention_factor"]
    if layer["rope_type"] == "yarn":
        one, all_dim = params.get("mscale"), params.get("mscale_all_dim")
        if one and all_dim:
            factor = params["factor"]
            return yarn_magnitude(factor, one) / yarn_magnitude(factor, all_dim)
        return yarn_magnitude(params["factor"])
    if layer["rope_type"] == "longrope":
        original = params["original_max_position_embeddings"]
        factor = params.get("factor") or config["max_position_embeddings"] / original
        return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
    return 1.0


# --- Rotation of (tokens, heads, head_dim)


def rotate_part(x, cos, sin, interleaved):
    """All values of the last axis, in pairs: neighbours, or one of each half."""
    half = x.shape[-1] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    out = np.empty_like(x)
    turned = first * cos - second * sin, second * cos + first * sin
    if interleaved:
        out[..., 0::2], out[..., 1::2] = turned
    else:
        out[..., :half], out[..., half:] = turned
    return out


def rotate(x, positions, layer, config):
    """The part [rotary_start, rotary_start + rotary_dim) of every head; the rest passes."""
    start, end = layer["rotary_start"], layer["rotary_start"] + layer["rotary_dim"]
    angles = positions[:, None, None] * frequencies(layer, positions.max() + 1)
    factor = attention_factor(layer, config)
    cos, sin = factor * np.cos(angles), factor * np.sin(angles)
    turned = rotate_part(x[..., start:end], cos, sin, layer["rotary_interleaved"])
    return np.concatenate([x[..., :start], turned, x[..., end:]], axis=-1)


# --- Biases by position, masks


def alibi(slopes, keys):
    """Relative to the row's own position it differs by what is constant in a row."""
    return np.array(slopes)[:, None, None] * keys[None, None, :]


def bucket(distance, buckets):
    """T5's: `distance` is the key's position less the row's. Half of the buckets for each direction
    if both exist; in each, the first half one by one, the others by logarithm."""
    count, offset = buckets["num_buckets"], 0
    if buckets["bidirectional"]:
        count //= 2
        offset = np.where(distance > 0, count, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = count // 2
    ratio = np.log(np.maximum(distance, 1) / exact) / math.log(buckets["max_distance"] / exact)
    large = np.minimum(exact + (ratio * (count - exact)).astype(int), count - 1)
    return offset + np.where(distance < exact, distance, large)


def bucket_bias(table, buckets, rows, keys):
    """(heads, rows, keys) of a table (buckets, heads)."""
    return np.moveaxis(table[bucket(keys[None, :] - rows[:, None], buckets)], -1, 0)


def visible(layer, rows, keys):
    """Which keys a row sees, by their positions."""
    row, key = rows[:, None], keys[None, :]
    seen = np.ones((len(rows), len(keys)), bool)
    if layer["causal"]:
        seen &= key <= row
    if layer["window"] and layer["window_both"]:
        seen &= abs(row - key) <= layer["window"]
    elif layer["window"]:
        seen &= key > row - layer["window"]
    if layer["chunk"]:
        seen &= key // layer["chunk"] == row // layer["chunk"]
    return seen


# --- Scores to weights


def cap(scores, limit):
    return limit * np.tanh(scores / limit)


def softmax(scores, sinks=None):
    """Over the last axis; a sink is one more score of the head that has no value."""
    if sinks is not None:
        column = np.broadcast_to(sinks[:, None, None], (*scores.shape[:-1], 1))
        scores = np.concatenate([scores, column], axis=-1)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights if sinks is None else weights[..., :-1]


def temperature(positions, tuning):
    """A row's factor on q."""
    steps = np.floor((positions + 1) / tuning["floor_scale"])
    return np.log1p(steps) * tuning["attn_scale"] + 1


# --- The layer


def project(layer, tensors, entry, x, memory):
    """The parts q, k, v and so on by name, each (tokens, all its values)."""
    parts = {"x": x, "memory": memory}
    for linear in entry["projections"]:
        y = parts[linear["input"]] @ tensors[linear["weight"]].T
        if linear["bias"]:
            y = y + tensors[linear["bias"]]
        if layer["clip_qkv"]:
            y = np.clip(y, -layer["clip_qkv"], layer["clip_qkv"])
        sizes = [size for _, size in linear["parts"]]
        pieces = np.split(y.reshape(len(y), linear["groups"], -1), np.cumsum(sizes)[:-1], axis=-1)
        for (name, _), piece in zip(linear["parts"], pieces):
            parts[name] = piece.reshape(len(y), -1)
            if name + "_norm" in entry and layer["mla"] and "latent" in name:
                weight = tensors[entry[name + "_norm"]]
                parts[name] = rms_norm(parts[name], weight, layer["mla"]["norm_eps"])
    return parts


def split_heads(x, count):
    return x.reshape(len(x), count, -1)


def latent_keys(parts, heads):
    """MLA: a key is the head's own part, then the part that all heads share."""
    own = split_heads(parts["k_own"], heads)
    shared = np.repeat(parts["k_shared"][:, None, :], heads, axis=1)
    return np.concatenate([own, shared], axis=-1).reshape(len(own), -1)


def norm_by_head(x, weight, layer):
    if layer["qk_norm"] == "l2":
        return l2_norm(x, layer["norm_eps"])
    return rms_norm(x, weight, layer["norm_eps"], layer["norm_plus_one"])


def prepare(x, name, heads, positions, layer, config, tensors, entry):
    """q or k from the projection to what scores are made of: norm and rotation in their order."""
    weight = tensors.get(entry.get(name + "_norm"))
    if layer["qk_norm"] == "width":
        x = rms_norm(x, weight, layer["norm_eps"], layer["norm_plus_one"])
    x = split_heads(x, heads)
    by_head = layer["qk_norm"] in ("head", "l2")
    if by_head and not layer["norm_after_rotation"]:
        x = norm_by_head(x, weight, layer)
    if layer["rotary_dim"]:
        x = rotate(x, positions, layer, config)
    if by_head and layer["norm_after_rotation"]:
        x = norm_by_head(x, weight, layer)
    return x


def score(layer, tensors, entry, q, k, rows, keys):
    """Scale, bias by position, cap, mask, in this order; (heads, rows, keys)."""
    scores = layer["scale"] * np.einsum("ihd,jhd->hij", q, k)
    if layer["alibi"]:
        scores = scores + alibi(layer["alibi"]["slopes"], keys)
    if layer["buckets"]:
        table = tensors[entry["relative_bias"]]
        scores = scores + bucket_bias(table, layer["buckets"], rows, keys)
    if layer["softcap"]:
        scores = cap(scores, layer["softcap"])
    return np.where(visible(layer, rows, keys), scores, -np.inf)


def attention(layer, config, tensors, entry, x, memory=None):
    """The whole layer; also the scores."""
    parts = project(layer, tensors, entry, x, memory)
    if layer["mla"]:
        parts["k"] = latent_keys(parts, layer["heads"])
    rows, keys = np.arange(len(x)), np.arange(len(parts["k"]))
    common = layer, config, tensors, entry
    q = prepare(parts["q"], "q", layer["heads"], rows, *common)
    k = prepare(parts["k"], "k", layer["kv_heads"], keys, *common)
    v = split_heads(parts["v"], layer["kv_heads"])
    if layer["temperature"]:
        q = q * temperature(rows, layer["temperature"])[:, None, None]
    sharing = layer["heads"] // layer["kv_heads"]
    k, v = np.repeat(k, sharing, axis=1), np.repeat(v, sharing, axis=1)
    scores = score(layer, tensors, entry, q, k, rows, keys)
    weights = softmax(scores, tensors[entry["sinks"]] if layer["sinks"] else None)
    context = np.einsum("hij,jhd->ihd", weights, v).reshape(len(x), -1)
    if layer["gate"]:
        context = context / (1 + np.exp(-parts["gate"]))
    out = context @ tensors[entry["output"]["weight"]].T
    bias = entry["output"]["bias"]
    return (out if bias is None else out + tensors[bias]), scores


# --- Comparison


def nrmse(got, wanted):
    return float(np.sqrt(np.sum((got - wanted) ** 2) / np.sum(wanted**2)))


def spread(scores):
    """The standard deviation of a row's visible scores, over the rows with more than three."""
    rows = [row[np.isfinite(row)] for row in scores.reshape(-1, scores.shape[-1])]
    return float(np.mean([row.std() for row in rows if len(row) > 3]))


def without(layer, config):
    """The layer with one feature less or another, by what is changed."""
    params = layer["rope_params"] or {}
    changes = {
        "scale": {"scale": 1.3 * layer["scale"]}, "causal": {"causal": not layer["causal"]},
        "window": {"window": None}, "window + 1": {"window": (layer["window"] or 0) + 1},
        "window_both": {"window_both": False}, "chunk": {"chunk": None},
        "qk_norm": {"qk_norm": "none"}, "norm_eps": {"norm_eps": 1e-6},
        "norm_plus_one": {"norm_plus_one": False},
        "norm_after_rotation": {"norm_after_rotation": not layer["norm_after_rotation"]},
        "rotation": {"rotary_dim": 0}, "rotary_dim": {"rotary_dim": layer["rotary_dim"] - 2},
        "rotary_start": {"rotary_start": 0},
        "pairs": {"rotary_interleaved": not layer["rotary_interleaved"]},
        "rope_type": {"rope_type": "default"},
        "temperature": {"temperature": None}, "clip_qkv": {"clip_qkv": None},
        "softcap": {"softcap": None}, "sinks": {"sinks": False}, "gate": {"gate": False},
        "alibi": {"alibi": None}, "buckets": {"buckets": None},
        "attention_factor": {"rope_params": {**params, "attention_factor": 1}},
        "mla": {"mla": {**(layer["mla"] or {}), "norm_eps": config.get("rms_norm_eps")}},
    }  # fmt: skip
    return {n: {**layer, **change} for n, change in changes.items() if has_feature(layer, n)}


def has_feature(layer, name):
    """Whether the change of this name should show in this layer."""
    has = layer.get(name.split(" ")[0])
    if name in ("rotation", "pairs"):
        return layer["rotary_dim"] > 0
    if name == "norm_after_rotation":  # L2: rotation keeps the length, so the order is the same
        return layer["qk_norm"] == "head" and layer["rotary_dim"] > 0
    if name == "rotary_dim":
        return has > 2 and layer["rope_type"] != "longrope"
    if name == "attention_factor":
        return has != 1
    return bool(has) and has not in ("none", "default")


def check_bites(label, layer, config, common, expected):
    failures, found = 0, []
    for name, changed in without(layer, config).items():
        far = nrmse(attention(changed, config, *common)[0], expected)
        found.append(f"{name} {far:.0e}")
        if far < BITE:
            print(f"{label}: without {name} the result differs by {far:.1e} only")
            failures += 1
    print("    " + ", ".join(found))
    return failures


def check_frequencies(layer, length):
    """inv_freq of the model's own, in models.json."""
    if not layer["rotary_dim"]:
        return 0.0
    wanted = np.array(layer["inv_freq"])
    return float(np.max(np.abs(frequencies(layer, length) / wanted - 1)))


def check(entry, bite):
    """Prints a line; returns how many things are wrong."""
    folder, layer = FOLDER / entry["folder"], entry["features"]
    config = json.loads((folder / "config.json").read_text())
    stored = load_file(folder / "model.safetensors")
    tensors = {name: tensor.astype("f8") for name, tensor in stored.items()}
    data = {n: t.astype("f8") for n, t in load_file(folder / entry["file"]).items()}
    common = tensors, entry["tensors"], data["x"], data.get("memory")
    got, scores = attention(layer, config, *common)
    error = nrmse(got, data["expected"])
    worst = max(check_frequencies(layer, len(data["x"])),
                abs(attention_factor(layer, config) - layer["attention_factor"]))  # fmt: skip
    label = f"{entry['folder']}/{entry['file'].split('.')[0]}"
    print(f"{label:24} {entry['kind']:10} {error:8.1e}   spread {spread(scores):.2f}")
    wrong = int(not error < LIMIT) + int(not worst < LIMIT)
    return wrong + (check_bites(label, layer, config, common, data["expected"]) if bite else 0)


def main(arguments):
    names = [a for a in arguments if not a.startswith("-")]
    entries = json.loads((FOLDER / "models.json").read_text())
    chosen = [e for e in entries if not names or e["folder"] in names]
    wrong = sum(check(entry, "--bite" in arguments) for entry in chosen)
    print(f"{len(chosen)} layers, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
