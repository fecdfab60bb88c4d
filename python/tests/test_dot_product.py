"""Attention that is made once, and its caches."""

import gc

import headroom
import numpy as np
import pytest
from headroom import DotProductAttention
from reference import close, definition

HERE = [backend["name"] for backend in headroom.backends() if backend["available"]]
SIZES = dict(heads=4, kv_heads=2, head_dim=16, tokens=8, batch=2)


@pytest.mark.parametrize("backend", HERE)
def test_a_cache_sees_what_came_before(normal, backend):
    q, k, v = normal(2, 4, 13, 16), normal(2, 2, 13, 16), normal(2, 2, 13, 16)
    attend = DotProductAttention(**SIZES, causal=True, scale=0.3, backend=backend)
    cache = attend.cache(capacity=13, sequences=2)
    expected = definition(q, k, v, causal=True, scale=0.3)
    for first, last in ((0, 8), (8, 9), (9, 13)):
        now = slice(first, last)
        y = attend(q[:, :, now], k[:, :, now], v[:, :, now], cache=cache)
        assert close(y, expected[:, :, now])
    assert cache.lengths == [13, 13] and "lengths=[13, 13]" in repr(cache)
    with pytest.raises(ValueError, match="room"):
        attend(q[:, :, :1], k[:, :, :1], v[:, :, :1], cache=cache)
    cache.truncate(9, sequence=1)
    cache.truncate(9)
    assert close(attend(q[:, :, 8:9], cache=cache), expected[:, :, 8:9])
    none = slice(0, 0)
    assert close(
        attend(q[:, :, 8:9], k[:, :, none], v[:, :, none], cache=cache), expected[:, :, 8:9]
    )
    assert cache.lengths == [9, 9]


def test_lengths_and_masks_over_a_cache(normal):
    q, k, v = normal(2, 4, 5, 16), normal(2, 2, 8, 16), normal(2, 2, 8, 16)
    attend = DotProductAttention(**SIZES)
    cache = attend.cache(16, sequences=2)
    attend(q, k, v, key_lengths=[8, 3], query_lengths=[0, 0], cache=cache)
    assert cache.lengths == [8, 3]
    mask = normal(2, 1, 5, 8)
    out = np.full(q.shape, 7, np.float32)
    assert attend(q, attn_mask=mask, query_lengths=[5, 2], cache=cache, out=out) is out
    assert close(out[:1], definition(q[:1], k[:1], v[:1], mask[:1]))
    short = definition(q[1:, :, :2], k[1:, :, :3], v[1:, :, :3], mask[1:, :, :2, :3])
    assert close(out[1:, :, :2], short)
    assert (out[1, :, 2:] == 7).all()


@pytest.mark.parametrize("backend", HERE)
def test_caps_sinks_and_windows_over_a_cache(normal, backend):
    q, k, v = normal(2, 4, 13, 16), normal(2, 2, 13, 16), normal(2, 2, 13, 16)
    rule, sinks = {"causal": True, "window": 5, "softcap": 1.5}, normal(4)
    attend = DotProductAttention(**SIZES, **rule, backend=backend)
    cache = attend.cache(capacity=13, sequences=2)
    expected = definition(q, k, v, sinks=sinks, **rule)
    for first, last in ((0, 8), (8, 9), (9, 13)):
        now = slice(first, last)
        y = attend(q[:, :, now], k[:, :, now], v[:, :, now], sinks=sinks, cache=cache)
        assert close(y, expected[:, :, now])


def test_a_window_without_an_order_is_on_both_sides(normal):
    q = normal(1, 4, 8, 16)
    attend = DotProductAttention(heads=4, head_dim=16, tokens=8, window=3)
    assert close(attend(q, q, q), definition(q, q, q, window=3))


def test_without_a_cache_it_is_the_function(normal):
    q, k, v = normal(2, 4, 5, 16), normal(2, 2, 7, 16), normal(2, 2, 7, 16)
    attend = DotProductAttention(**SIZES, backend="xsimd")
    expected = headroom.attention(q, k, v, enable_gqa=True, backend="xsimd")
    assert np.array_equal(attend(q, k, v), expected)
    assert repr(attend) == "DotProductAttention(heads=4, kv_heads=2, head_dim=16, xsimd)"
    assert attend.choice["backend"] == "xsimd" and attend.costs["workspace_bytes"] > 0
    one = DotProductAttention(heads=1, head_dim=16, tokens=5, keys=7)
    assert close(one(q[0, 0], k[0, 0], v[0, 0]), definition(q, k, v)[0, 0])


def test_a_cache_keeps_what_it_belongs_to(normal):
    q = normal(1, 4, 3, 16)
    attend = DotProductAttention(heads=4, head_dim=16, tokens=3, causal=True)
    cache = attend.cache(9)
    attend(q, q, q, cache=cache)
    del attend
    gc.collect()
    assert cache.lengths == [3]
    cache.clear()
    assert cache.lengths == [0] and cache.nbytes > 0


def test_threads_at_once(normal, in_threads):
    q = normal(1, 4, 8, 16)
    attend = DotProductAttention(heads=4, head_dim=16, tokens=8, causal=True)
    expected = attend(q, q, q)
    failed = []

    def call(_):
        cache = attend.cache(8)
        for _ in range(20):
            cache.clear()
            if cache.lengths != [0] or not close(attend(q, q, q, cache=cache), expected):
                failed.append(1)

    in_threads(call, 4)
    assert not failed


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_tensors_of_bfloat16(dtype):
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    q = torch.randn(1, 4, 6, 16).bfloat16()
    k, v = torch.randn(2, 1, 2, 6, 16).bfloat16()
    attend = DotProductAttention(
        heads=4, kv_heads=2, head_dim=16, tokens=6, causal=True, dtype=dtype
    )
    cache = attend.cache(6)
    y = attend(q, k, v, cache=cache)
    expected = definition(*(x.float().numpy() for x in (q, k, v)), causal=True)
    assert y.dtype == torch.bfloat16
    assert np.abs(y.float().numpy() - expected).max() < 0.02
    out = torch.empty_like(q)
    cache.clear()
    assert attend(q, k, v, cache=cache, out=out) is out and torch.equal(out, y)


def test_refusals(normal):
    q, k = normal(2, 4, 5, 16), normal(2, 2, 5, 16)
    attend = DotProductAttention(**SIZES)
    other = DotProductAttention(**SIZES).cache(8, sequences=2)
    with pytest.raises(ValueError, match="only with a cache"):
        attend(q)
    with pytest.raises(ValueError, match="left out together"):
        attend(q, k, cache=other)
    with pytest.raises(ValueError, match="cache"):
        attend(q, k, k, cache=other)
    with pytest.raises(ValueError, match="2 sequences of 9 queries"):
        attend(normal(2, 4, 9, 16), k, k)
    with pytest.raises(ValueError, match="1 sequences of 0 tokens"):
        attend.cache(0)
    with pytest.raises(ValueError, match="scale is 0"):
        DotProductAttention(**SIZES, scale=0)
    with pytest.raises(ValueError, match="window is -3"):
        DotProductAttention(**SIZES, window=-3)
    with pytest.raises(ValueError, match="softcap is 0"):
        DotProductAttention(**SIZES, softcap=0)
    with pytest.raises(ValueError, match=r"sinks have shape \(2,\); allowed is \(4,\)"):
        attend(q, k, k, sinks=normal(2))
    with pytest.raises(TypeError, match="colour"):
        DotProductAttention(**SIZES, colour="red")
    with pytest.raises(ValueError, match="naiv"):
        DotProductAttention(**SIZES, backend="naiv")
