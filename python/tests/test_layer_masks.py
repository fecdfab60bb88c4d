"""Masks that a call of a layer brings."""

import headroom
import numpy as np
import pytest
from headroom import Attention

import reference

HERE = [backend["name"] for backend in headroom.backends() if backend["available"]]
HEADS, TOKENS = 4, 11

SHAPES = {
    "for_all": (TOKENS,),
    "a_matrix": (TOKENS, TOKENS),
    "by_head": (HEADS, TOKENS, TOKENS),
    "by_sequence": (2, 1, 1, TOKENS),
    "by_row_alone": (TOKENS, 1),
    "by_all": (2, HEADS, TOKENS, TOKENS),
}


@pytest.fixture
def mask(normal, rng):
    def make(shape, boolean):
        seen = rng.random(shape) < 0.7
        return seen if boolean else np.where(seen, normal(*shape), np.float32(-np.inf))

    return make


@pytest.mark.parametrize("backend", HERE)
@pytest.mark.parametrize("boolean", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_is_the_definition(weights, normal, mask, backend, boolean, shape):
    parts = weights()
    layer = Attention(**parts, heads=HEADS, tokens=TOKENS, batch=2, backend=backend)
    x = normal(2, TOKENS, 32)
    given = mask(SHAPES[shape], boolean)
    whole = np.broadcast_to(given, (2, HEADS, TOKENS, TOKENS))
    want = [reference.attention(x[b], **parts, heads=HEADS, mask=whole[b]) for b in range(2)]
    got = layer(x, mask=given)
    assert reference.close(got, np.stack(want))
    assert np.array_equal(layer(x, mask=whole), got)


def test_keys_of_a_cache_come_first(weights, normal, mask):
    layer = Attention(**weights(), heads=HEADS, tokens=TOKENS)
    x = normal(TOKENS, 32)
    given = mask((HEADS, TOKENS, TOKENS), False)
    want = layer(x, mask=given)
    cache = layer.cache(TOKENS)
    rows = [slice(0, 6), slice(6, 10), slice(10, 11)]
    got = [layer(x[r], cache=cache, mask=given[:, r, : r.stop]) for r in rows]
    assert np.array_equal(np.concatenate(got), want)


@pytest.mark.parametrize("side", ["left", "right"])
def test_stands_with_the_padding(weights, normal, mask, side):
    layer = Attention(**weights(), heads=HEADS, tokens=TOKENS, batch=2)
    lengths = [4, 9]
    x = normal(2, TOKENS, 32)
    given = mask((2, HEADS, TOKENS, TOKENS), True)
    got = layer(x, lengths=lengths, padding_side=side, mask=given)
    for b, length in enumerate(lengths):
        own = slice(TOKENS - length, None) if side == "left" else slice(0, length)
        assert np.array_equal(got[b, own], layer(x[b, own], mask=given[b][:, own, own]))


def test_of_a_second_input(weights, normal, mask):
    parts = weights()
    layer = Attention(**parts, heads=HEADS, tokens=5, memory_tokens=TOKENS)
    x, memory = normal(5, 32), normal(TOKENS, 32)
    given = mask((5, TOKENS), True)
    want = reference.attention(x, **parts, heads=HEADS, memory=memory, mask=given)
    assert reference.close(layer(x, memory=memory, mask=given), want)


def test_any_strides(weights, normal, mask):
    layer = Attention(**weights(), heads=HEADS, tokens=TOKENS)
    x = normal(TOKENS, 32)
    wide = mask((TOKENS, 2 * TOKENS), False)
    assert np.array_equal(layer(x, mask=wide[:, ::2]), layer(x, mask=wide[:, ::2].copy()))
    assert np.array_equal(layer(x, mask=wide[:, :TOKENS].T), layer(x, mask=wide.T[:TOKENS].copy()))


def test_a_row_that_sees_nothing_has_a_context_of_0(weights, normal):
    parts = weights()
    parts.pop("output")
    layer = Attention(**parts, heads=HEADS, tokens=TOKENS)
    seen = np.ones((TOKENS, 1), bool)
    seen[3] = False
    y = layer(normal(TOKENS, 32), mask=seen)
    assert not y[3].any()
    assert y[2].any() and y[4].any()


NAN = np.zeros((TOKENS, TOKENS), np.float32)
NAN[2, 1] = np.nan


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (np.ones((TOKENS, TOKENS - 1), bool), ValueError, "allowed for keys are 1 and 11"),
        (np.ones((3, 1, 1), bool), ValueError, "allowed for heads are 1 and 4"),
        (np.ones((1, 1, 1, 1, 1), bool), ValueError, "mask has 5 dimensions"),
        (np.zeros((TOKENS, TOKENS)), TypeError, "mask has dtype float64"),
        (np.ones((TOKENS, TOKENS), np.int32), TypeError, "mask has dtype int32"),
        (NAN, ValueError, "query 2 and key 1"),
        (np.ones((TOKENS, TOKENS), bool)[:, ::-1], ValueError, "negative stride"),
        ("causal", TypeError, "mask"),
    ],
)
def test_refusals(weights, normal, given, error, text):
    layer = Attention(**weights(), heads=HEADS, tokens=TOKENS)
    cache = layer.cache(TOKENS)
    with pytest.raises(error, match=text):
        layer(normal(TOKENS, 32), cache=cache, mask=given)
    assert list(cache.lengths) == [0]
