"""Attention over tensors, beside PyTorch's in double precision."""

import random

import headroom
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

HERE = [backend["name"] for backend in headroom.backends() if backend["available"]]
CALLS = 500


def tensor(pick, shape, dtype):
    """Of any strides: as PyTorch makes it, cut out of a larger one, or with tokens before heads."""
    layout = pick.randrange(3)
    if layout == 0:
        x = torch.randn(shape)
    elif layout == 1:
        x = torch.randn([size + 3 for size in shape])[tuple(slice(1, size + 1) for size in shape)]
    else:
        x = torch.randn(shape[0], shape[2], shape[1], shape[3]).transpose(1, 2)
    return x.to(dtype)


def random_call(pick):
    batch, tokens = pick.choice([1, 1, 2, 3]), pick.choice([1, 5, 17, 40])
    keys, head_dim = pick.choice([1, 9, 33, 70]), pick.choice([8, 20, 64])
    kv_heads, group = pick.choice([1, 2]), pick.choice([1, 2, 4])
    dtype = pick.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])
    q = tensor(pick, (batch, kv_heads * group, tokens, head_dim), dtype)
    k = tensor(pick, (batch, kv_heads, keys, head_dim), dtype)
    v = tensor(pick, (batch, kv_heads, keys, head_dim), dtype)
    options = {"enable_gqa": group > 1}
    if pick.random() < 0.5:
        options["scale"] = pick.uniform(0.05, 0.8)
    kind = pick.randrange(4)
    sizes = [pick.choice([1, batch]), pick.choice([1, kv_heads * group]), tokens, keys]
    if kind == 1:
        options["is_causal"] = True
    elif kind == 2:
        options["attn_mask"] = torch.randn(sizes[pick.randrange(3) :]).to(dtype)
    elif kind == 3:
        seen = torch.rand(sizes[pick.randrange(3) :]) < 0.7
        seen[..., 0] = True  # what PyTorch makes of a row that sees nothing depends on its version
        options["attn_mask"] = seen
    return q, k, v, options


@pytest.mark.parametrize("backend", HERE)
def test_is_that_of_pytorch(backend):
    torch.manual_seed(5)
    pick = random.Random(5)
    for call in range(CALLS // len(HERE)):
        q, k, v, options = random_call(pick)
        theirs = dict(options)
        if theirs.get("attn_mask") is not None and theirs["attn_mask"].is_floating_point():
            theirs["attn_mask"] = theirs["attn_mask"].double()
        expected = torch.nn.functional.scaled_dot_product_attention(
            q.double(), k.double(), v.double(), **theirs
        )
        found = headroom.attention(q, k, v, backend=backend, **options)
        assert found.dtype == q.dtype and found.shape == q.shape
        limit = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}[q.dtype]
        assert (found.double() - expected).abs().max() < limit, (call, q.shape, k.shape, options)


def test_out_and_gradients():
    q = torch.randn(1, 2, 5, 8)
    out = torch.empty(1, 2, 5, 8, dtype=torch.bfloat16)
    assert headroom.attention(q.bfloat16(), q.bfloat16(), q.bfloat16(), out=out) is out
    assert torch.equal(out, headroom.attention(q.bfloat16(), q.bfloat16(), q.bfloat16()))
    with pytest.raises(TypeError, match="gradients"):
        headroom.attention(q.requires_grad_(), q, q)
