"""Weights and activations of other types than float32, as PyTorch has them, read where they lie."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from headroom import Attention  # noqa: E402

pytestmark = pytest.mark.torch

WIDTH = 64


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(5)


def linears(dtype):
    return {
        name: torch.nn.Linear(WIDTH, WIDTH, bias=False).weight.detach().to(dtype)
        for name in ("query", "key", "value", "output")
    }


def layer_of(stored, **options):
    return Attention(
        **{name: weight.T if weight.dim() == 2 else weight for name, weight in stored.items()},
        heads=4,
        tokens=9,
        backend="xsimd",
        **options,
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_stored_weights_give_the_bits_of_floats(dtype):
    stored = linears(dtype)
    stored["query_bias"] = torch.randn(WIDTH).to(dtype)
    x = torch.randn(9, WIDTH)
    floats = layer_of({name: weight.float() for name, weight in stored.items()})
    assert torch.equal(layer_of(stored)(x), floats(x))


def test_a_bf16_layer_on_bf16_tensors():
    layer = layer_of(linears(torch.bfloat16), dtype="bf16")
    x = torch.randn(2, 4, WIDTH).bfloat16()
    want = layer(x.float())
    assert want.dtype is torch.float32
    y = layer(x)
    assert y.dtype is torch.bfloat16 and torch.equal(y, want.bfloat16())
    out = torch.full((2, 4, WIDTH), 7, dtype=torch.bfloat16)
    assert layer(x, out) is out and torch.equal(out, y)
    wide = torch.empty(2, 4, WIDTH)
    layer(x, wide)
    assert torch.equal(wide, want)
    bits = layer(x.view(torch.int16).numpy().view(np.uint16))
    assert np.array_equal(bits, y.view(torch.int16).numpy().view(np.uint16))


def test_a_cache_of_bf16_tensors():
    layer = layer_of(linears(torch.bfloat16), dtype="bf16")
    x = torch.randn(9, WIDTH).bfloat16()
    cache = layer.cache(9)
    layer.append(x[:6], cache)
    assert torch.equal(layer(x[6:], cache=cache), layer(x)[6:])


def test_a_layer_of_floats_refuses_bf16():
    layer = layer_of(linears(torch.float32))
    with pytest.raises(ValueError, match="x is of bf16 values, and this layer stores f32"):
        layer(torch.randn(9, WIDTH).bfloat16())
    with pytest.raises(TypeError, match="allowed are float32 and bfloat16"):
        layer(torch.randn(9, WIDTH).half())


PEAK = """
import torch
from headroom import Attention

def high_water():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) << 10

def reset():
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")

width = 2048
names = ("query", "key", "value", "output")
small = {name: torch.zeros(64, 64).T for name in names}
Attention(**small, heads=4, tokens=1, backend="xsimd", threads=1)  # what is loaded once
stored = {name: torch.zeros(width, width, dtype=torch.bfloat16).T for name in names}
for weight in stored.values():
    weight.fill_(1)
reset()
before = high_water()
layer = Attention(**stored, heads=16, tokens=1, backend="xsimd", threads=1, dtype="bf16")
costs = layer.costs
print((high_water() - before) - costs["packed_bytes"] - costs["workspace_bytes"])
"""


def test_packing_takes_memory_for_the_packed_copy_alone():
    try:
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
    except OSError:
        pytest.skip("this kernel does not report the peak of a part of a process")
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 6 << 20
