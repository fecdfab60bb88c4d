#!/usr/bin/env python3
"""How near PyTorch's own float32 comes to the element bound.

    headroom-fit-bound 1400 FOLDER && pytorch.py FOLDER

Reads the layers that headroom-fit-bound left in FOLDER, with the oracle's results and bounds, runs
them with PyTorch on the CPU and prints the largest error beside its bound for each kind of data.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from torch.nn.functional import linear


class Values:
    """Arrays one after the other, as headroom-fit-bound wrote them."""

    def __init__(self, path):
        self.bytes = path.read_bytes()
        self.at = 0

    def take(self, *shape, dtype=np.float32):
        count = int(np.prod(shape))
        array = np.frombuffer(self.bytes, dtype, count, self.at).reshape(shape)
        self.at += array.nbytes
        return array

    def tensor(self, *shape):
        return torch.from_numpy(self.take(*shape).copy())


def largest_ratio(description, values):
    batch, tokens, heads = (description[k] for k in ("batch", "tokens", "heads"))
    d_in, d_out, d_proj = (description[k] for k in ("d_in", "d_out", "d_proj"))
    x = values.tensor(batch * tokens, d_in)
    weights = [values.tensor(d_in, d_out) for _ in range(3)]
    biases = [values.tensor(d_out) if description["bias"] else None for _ in range(3)]
    w_output, b_output = (values.tensor(d_out, d_proj), values.tensor(d_proj)) if d_proj else (None, None)
    factors = values.tensor(batch, heads, tokens, tokens) if description["dropout"] else 1

    q, k, v = (
        linear(x, w.T, b).view(batch, tokens, heads, -1).transpose(1, 2) for w, b in zip(weights, biases)
    )
    scores = q @ k.transpose(2, 3)
    if description["causal"]:
        later = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1)
        scores = scores.masked_fill(later, -torch.inf)
    p = torch.softmax(scores / (d_out // heads) ** 0.5, -1) * factors
    y = (p @ v).transpose(1, 2).reshape(batch * tokens, d_out)
    if d_proj:
        y = linear(y, w_output.T, b_output)

    expected = values.take(*y.shape, dtype=np.float64)
    bound = values.take(*y.shape, dtype=np.float64)
    assert values.at == len(values.bytes)
    error = np.abs(y.double().numpy() - expected)
    return np.divide(error, bound, out=np.zeros_like(error), where=error > 0).max()


def main(folder):
    worst = {}
    files = sorted(pathlib.Path(folder).glob("*.json"), key=lambda path: int(path.stem))
    for path in files:
        description = json.loads(path.read_text())
        ratio = largest_ratio(description, Values(path.with_suffix(".bin")))
        worst[description["data"]] = max(worst.get(description["data"], (0, "")), (ratio, path.stem))
    print(f"PyTorch {torch.__version__}, {len(files)} layers")
    for data, (ratio, number) in sorted(worst.items()):
        print(f"{data:<27} at most  {ratio:.3f}  {number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
