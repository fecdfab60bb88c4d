"""Attention over queries, keys and values that the caller has."""

import headroom
import numpy as np
import pytest
from headroom import attention
from reference import close, definition

HERE = [backend["name"] for backend in headroom.backends() if backend["available"]]


@pytest.mark.parametrize("backend", HERE)
def test_is_the_definition(normal, backend):
    q, k, v = normal(2, 4, 5, 16), normal(2, 2, 9, 16), normal(2, 2, 9, 16)
    y = attention(q, k, v, is_causal="lower_right", enable_gqa=True, backend=backend, scale=0.3)
    assert y.dtype == np.float32
    assert close(y, definition(q, k, v, causal=True, scale=0.3))
    mask = normal(5, 9)
    assert close(
        attention(q, k, v, mask, enable_gqa=True, backend=backend), definition(q, k, v, mask)
    )
    seen = normal(2, 1, 5, 9) > 0
    seen[1, 0, 3] = False
    y = attention(q, k, v, seen, enable_gqa=True, backend=backend)
    assert close(y, definition(q, k, v, seen))
    assert not y[1, :, 3].any()


@pytest.mark.parametrize("backend", HERE)
@pytest.mark.parametrize("causal", [False, True])
def test_caps_sinks_and_windows(normal, backend, causal):
    q, k, v = normal(2, 4, 9, 16), normal(2, 2, 13, 16), normal(2, 2, 13, 16)
    order = {"is_causal": "lower_right" if causal else False}
    for rule in (
        {"softcap": 0.7},
        {"sinks": normal(4) * 2},
        {"window": 4},
        {"softcap": 1.5, "sinks": normal(4), "window": 3},
    ):
        y = attention(q, k, v, enable_gqa=True, backend=backend, **order, **rule)
        assert close(y, definition(q, k, v, causal=causal, **rule)), rule
    seen = normal(2, 1, 1, 13) > 0
    seen[..., 12] = True
    rule = {"softcap": 1.5, "sinks": normal(4)}
    y = attention(q, k, v, seen, enable_gqa=True, backend=backend, **order, **rule)
    assert close(y, definition(q, k, v, seen, causal=causal, **rule))


def test_a_query_that_sees_a_sink_alone_is_0(normal):
    q = normal(1, 2, 4, 8)
    y = attention(q, q, q, np.zeros((4, 4), bool), sinks=normal(2))
    assert not y.any()


def test_causal_counts_from_the_first_key_as_pytorch_does(normal):
    for tokens, keys in ((5, 9), (9, 5), (6, 6)):
        q, k, v = normal(1, 2, tokens, 8), normal(1, 2, keys, 8), normal(1, 2, keys, 8)
        seen = np.tri(tokens, keys, dtype=bool)
        assert close(attention(q, k, v, is_causal=True), definition(q, k, v, seen))
        added = normal(tokens, keys)
        both = np.where(seen, added, -np.inf).astype(np.float32)
        assert close(attention(q, k, v, added, is_causal=True), definition(q, k, v, both))
        hidden = added > 0
        both = definition(q, k, v, seen & hidden)
        assert close(attention(q, k, v, hidden, is_causal=True), both)


def test_any_strides_and_fewer_dimensions(normal):
    wide = normal(2, 7, 3 * 4 * 8).reshape(2, 7, 3, 4, 8)
    q, k, v = (wide[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    expected = definition(q, k, v)
    assert close(attention(q, k, v), expected)
    assert close(attention(q[0], k[0], v[0]), expected[0])
    assert close(attention(q[0, 1], k[0, 1], v[0, 1]), expected[0, 1])
    backwards = attention(q[..., ::-1], k[..., ::-1], v)
    assert close(backwards, expected)


def test_lengths_and_out(normal):
    q, k, v = normal(2, 2, 4, 8), normal(2, 2, 6, 8), normal(2, 2, 6, 8)
    y = attention(q, k, v, query_lengths=[4, 2], key_lengths=[6, 3])
    assert close(y[0], definition(q, k, v)[0])
    assert close(y[1:, :, :2], definition(q[1:, :, :2], k[1:, :, :3], v[1:, :, :3]))
    assert not y[1, :, 2:].any()
    out = np.full((2, 2, 4, 8), 7, np.float32)
    assert attention(q, k, v, query_lengths=[4, 2], key_lengths=[6, 3], out=out) is out
    assert np.array_equal(out[1, :, :2], y[1, :, :2]) and (out[1, :, 2:] == 7).all()
    window = attention(q, q, q, is_causal=True, window=2)
    band = np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool)
    assert close(window, definition(q, q, q, band))


def test_an_output_is_written_where_it_lies_or_refused(normal):
    q = normal(1, 2, 4, 8)
    wide = np.full((1, 2, 4, 16), 7, np.float32)
    assert attention(q, q, q, out=wide[..., :8]).base is wide
    assert close(wide[..., :8], definition(q, q, q)) and (wide[..., 8:] == 7).all()
    with pytest.raises(ValueError, match="out has strides"):
        attention(q, q, q, out=wide[..., ::2])
    wide.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        attention(q, q, q, out=wide[..., :8])


def test_many_kinds_of_calls_keep_few(normal):
    for head_dim in range(1, 40):
        x = normal(1, 1, 3, head_dim)
        assert close(attention(x, x, x), definition(x, x, x))
    from headroom._attend import _kernels

    assert all(len(kernels.made) <= 16 for kernels in _kernels.values())


def test_threads_at_once(normal, in_threads):
    q = normal(1, 2, 33, 16)
    expected = definition(q, q, q, causal=True)
    failed = []

    def call(_):
        for _ in range(20):
            if not close(attention(q, q, q, is_causal=True), expected):
                failed.append(1)

    in_threads(call, 4)
    assert not failed


@pytest.mark.parametrize(
    "change, error, named",
    [
        (dict(dropout_p=0.1), ValueError, "dropout_p is 0.1"),
        (dict(is_causal="upper"), ValueError, "is_causal is 'upper'"),
        (dict(scale=-1.0), ValueError, "scale is -1.0"),
        (dict(k=(1, 1, 5, 8)), ValueError, "enable_gqa=True"),
        (dict(k=(1, 2, 4, 8)), ValueError, "v is 1 x 5"),
        (dict(attn_mask=(3, 5)), ValueError, "allowed for queries are 1 and 4"),
        (dict(attn_mask=(1, 1, 1, 4, 5)), ValueError, "attn_mask has 5 dimensions"),
        (dict(q=(8,)), ValueError, r"query has shape \(8,\)"),
        (dict(backend="none"), ValueError, "none"),
        (dict(colour="red"), TypeError, "colour"),
        (dict(window=0), ValueError, "window is 0"),
        (dict(window=3, q=(1, 2, 6, 8)), ValueError, "6 queries and 5 keys"),
        (dict(softcap=0), ValueError, "softcap is 0"),
        (dict(softcap=-2.0), ValueError, "softcap is -2.0"),
        (dict(softcap=np.inf), ValueError, "softcap is inf"),
        (dict(sinks=(3,)), ValueError, r"sinks have shape \(3,\); allowed is \(2,\)"),
        (dict(sinks=(2, 1)), ValueError, r"sinks have shape \(2, 1\)"),
    ],
)
def test_refusals(normal, change, error, named):
    shapes = {"q": (1, 2, 4, 8), "k": (1, 2, 5, 8), "v": (1, 2, 5, 8)}
    arguments = dict(change)
    for name in shapes:
        shapes[name] = arguments.pop(name, shapes[name])
    arrays = [normal(*shapes[name]) for name in ("q", "k", "v")]
    for name in ("attn_mask", "sinks"):
        if name in arguments:
            arguments[name] = normal(*arguments[name])
    with pytest.raises(error, match=named):
        attention(*arrays, **arguments)


def test_other_dtypes_are_refused(normal):
    q = normal(1, 2, 4, 8)
    with pytest.raises(TypeError, match="float64"):
        attention(q.astype(np.float64), q, q)
    with pytest.raises(TypeError, match="mask has dtype int64"):
        attention(q, q, q, np.ones((4, 4), np.int64))
