"""What mypy says of calls of the package."""

import os
import subprocess
import sys
from pathlib import Path

import headroom
import pytest

pytest.importorskip("mypy")

# A line with "# wrong" is one that mypy has to find.
CALLS = """
from typing import Any

import headroom

x: Any = None
headroom.attention(x, x, x, backend="tbb", threads=1)
headroom.attention(x, x, x, bakend="tbb")  # wrong
headroom.attention(x, x, x, backend=3)  # wrong
headroom.attention(x, x, x, cache_dtype="q8")  # wrong
attend = headroom.DotProductAttention(heads=4, head_dim=8, tokens=6, cache_dtype="q8")
headroom.DotProductAttention(heads=4, head_dim=8, tokens=6, bakend="tbb")  # wrong
headroom.DotProductAttention(heads=4.0, head_dim=8, tokens=6)  # wrong
layer = headroom.Attention(x, x, x, heads=4, tokens=6, backend="tbb")
headroom.Attention(x, x, x, heads=4, tokens=6, bakend="tbb")  # wrong
headroom.Attention.load("model", tokens=6, weights_dtype="q8")
headroom.Attention.load("model", tokens=6, bakend="tbb")  # wrong
layer(x, legnths=[4])  # wrong
layer.cache(8).truncate("3")  # wrong
headroom.sweep(heads=[1, 2], backend="tbb", out_proj=False)
headroom.sweep(heads=4, bakend="tbb")  # wrong
headroom.pick(heads=4, budget="1s")
headroom.pick(haeds=4)  # wrong
"""

MODULES = """
import torch
from headroom.torch import MultiheadAttention, accelerate, register_transformers

MultiheadAttention.from_module(torch.nn.MultiheadAttention(8, 2), backend="tbb")
MultiheadAttention.from_module(torch.nn.MultiheadAttention(8, 2), bakend="tbb")  # wrong
register_transformers("mine", backend="tbb")
register_transformers("mine", bakend="tbb")  # wrong
register_transformers("mine", formulation="fused")  # wrong
accelerate(torch.nn.Linear(1, 1), rows=4, weights_dtype="q8")
accelerate(torch.nn.Linear(1, 1), bakend="tbb")  # wrong
"""

# The package is what is asked about, as it is installed; PyTorch's own types take a minute.
CONFIG = """
[mypy]
strict = true
[mypy-torch.*,numpy.*,transformers.*,safetensors.*]
follow_imports = skip
ignore_missing_imports = true
[mypy-headroom.*]
ignore_errors = true
"""


@pytest.mark.parametrize(
    "calls", [CALLS, pytest.param(MODULES, marks=pytest.mark.torch)], ids=["layers", "modules"]
)
def test_what_mypy_finds(tmp_path, calls):
    (tmp_path / "calls.py").write_text(calls)
    (tmp_path / "mypy.ini").write_text(CONFIG)
    mypy = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-incremental"]
    folder = Path(headroom.__file__).parents[1]
    # Where packages are installed mypy looks by itself, and not if it is told to.
    path = {} if folder.name == "site-packages" else {"MYPYPATH": str(folder)}
    found = subprocess.run(
        [*mypy, "calls.py"],
        cwd=tmp_path,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
    )
    lines = [line.split(":") for line in found.stdout.splitlines() if ": error:" in line]
    wrong = [i for i, line in enumerate(calls.splitlines(), 1) if line.endswith("# wrong")]
    assert sorted({int(line[1]) for line in lines}) == wrong, found.stdout + found.stderr
