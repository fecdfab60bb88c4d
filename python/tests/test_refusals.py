"""What is refused, by which exception, and that nothing was computed."""

import headroom
import numpy as np
import pytest
from headroom import Attention


@pytest.fixture
def layer(weights):
    return Attention(**weights(), heads=4, tokens=6, batch=2)


@pytest.mark.parametrize(
    "options, text",
    [
        (dict(heads=5), "heads"),
        (dict(heads=0), "heads"),
        (dict(kv_heads=3), "kv_heads"),
        (dict(window=-1), "window"),
        (dict(dropout=1.0), "dropout"),
        (dict(tokens=-1), "tokens"),
        (dict(backend="xsmid"), "xsimd"),
        (dict(formulation="spilt"), "wrapper, split and fused"),
        (dict(isa="avx3"), "avx2"),
        (dict(precision="f16"), "bf16x6"),
        (dict(dtype="f64"), "f32 and bf16"),
        (dict(weights_dtype="q5"), "f32, bf16, q8 and q4"),
        (dict(cache_dtype="q5"), "f32, bf16 and q8"),
        (dict(cache_dtype="q4"), "f32, bf16 and q8"),
        (dict(rotary="quarters"), "halves"),
        (dict(threads=-1), "threads"),
        (dict(causal=True, memory_tokens=4), "causal"),
        (dict(query_bias=np.zeros(31, np.float32)), "query"),
    ],
)
def test_options(weights, options, text):
    with pytest.raises(ValueError, match=text):
        Attention(**weights(), **{"heads": 4, "tokens": 6, **options})


def test_what_is_not_here_is_a_runtime_error(weights):
    absent = [one for one in headroom.backends() if not one["available"]]
    for backend in absent:
        assert backend["reason"]
        with pytest.raises(RuntimeError, match=backend["name"]):
            Attention(**weights(), heads=4, tokens=6, backend=backend["name"])
    with pytest.raises(RuntimeError, match="naive"):
        Attention(**weights(), heads=4, tokens=6, backend="naive", precision="bf16")


@pytest.mark.parametrize(
    "change, error, text",
    [
        (lambda x: x.astype(np.float64), TypeError, "float64"),
        (lambda x: x.astype(np.float16), TypeError, "float16"),
        (lambda x: x.astype(np.int32), TypeError, "int32"),
        (lambda x: x.astype(np.complex64), TypeError, "complex"),
        (lambda x: x > 0, TypeError, "bool"),
        (lambda x: x.astype(">f4"), TypeError, "x is a"),
        (lambda x: x.tolist(), TypeError, "x is a list"),
        (lambda x: None, TypeError, "x is a NoneType"),
        (lambda x: "text", TypeError, "x is a str"),
        (lambda x: x[..., ::2], ValueError, "next to each other"),
        (lambda x: x[..., ::-1], ValueError, "next to each other"),
        (lambda x: x[:, ::-1], ValueError, "evenly apart"),
        (lambda x: x[:, :5], ValueError, "evenly apart"),
        (lambda x: x.transpose(1, 0, 2), ValueError, "evenly apart"),
        (lambda x: np.broadcast_to(x[:, :1], x.shape), ValueError, "evenly apart"),
        (lambda x: x[0, 0], ValueError, "shape"),
        (lambda x: x[None], ValueError, "shape"),
        (lambda x: x[..., :31], ValueError, "31"),
    ],
)
def test_x(layer, normal, change, error, text):
    x, out = normal(2, 6, 32), np.full((2, 6, 32), 5, np.float32)
    with pytest.raises(error, match=text):
        layer(change(x), out)
    with pytest.raises(error, match=text):
        layer(change(x))
    assert (out == 5).all()


def test_more_tokens_than_the_layer_takes(layer, normal):
    with pytest.raises(ValueError, match="most tokens of a sequence"):
        layer(normal(7, 32))
    with pytest.raises(ValueError, match="up to 12 x 32"):
        layer(normal(3, 6, 32))


def test_out(layer, normal):
    x, out = normal(2, 6, 32), np.zeros((2, 6, 32), np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        layer(x, out)
    with pytest.raises(ValueError, match="overlaps"):
        layer(x, x)
    with pytest.raises(ValueError, match=r"must be \(2, 6, 32\)"):
        layer(x, np.zeros((12, 32), np.float32))
    with pytest.raises(TypeError, match="out has dtype float64"):
        layer(x, np.zeros((2, 6, 32)))
    assert not out.any()


def test_x_may_be_read_only_strided_and_unaligned(layer, normal):
    x = normal(2, 6, 32)
    want = layer(x)
    x.flags.writeable = False
    assert np.array_equal(layer(x), want)
    wide = np.zeros((2, 6, 50), np.float32)
    wide[..., 3:35] = x
    out = np.full((2, 6, 40), 5, np.float32)
    layer(wide[..., 3:35], out[..., :32])
    assert np.array_equal(out[..., :32], want) and (out[..., 32:] == 5).all()
    odd = np.empty(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    odd[:] = x
    assert odd.ctypes.data % 4 == 1 and np.array_equal(layer(odd), want)


def test_buffers_of_other_libraries(layer, normal):
    x = normal(6, 32)
    buffer = memoryview(bytearray(x.tobytes())).cast("f", (6, 32))
    out = memoryview(bytearray(x.nbytes)).cast("f", (6, 32))
    assert layer(buffer, out) is out
    assert np.array_equal(np.asarray(out), layer(x))
    assert np.array_equal(layer(buffer), layer(x))
    with pytest.raises(ValueError, match="read-only"):
        layer(x, memoryview(bytes(x.nbytes)).cast("f", (6, 32)))


def test_lengths_and_caches(layer, normal):
    x = normal(2, 6, 32)
    for lengths in ([6], [6, 7], [-1, 2], [1, 2, 3]):
        with pytest.raises(ValueError):
            layer(x, lengths=lengths)
    cache = layer.cache(8)
    layer(x[0], cache=cache)
    out = np.full((6, 32), 5, np.float32)
    with pytest.raises(ValueError, match="room for 2 more"):
        layer(x[0], out, cache=cache)
    assert (out == 5).all() and cache.lengths == [6]
    with pytest.raises(ValueError):
        cache.truncate(7)
    with pytest.raises(ValueError):
        cache.truncate(1, sequence=1)
    with pytest.raises(ValueError):
        layer.cache(0)


def test_a_cache_of_another_layer(layer, weights, normal):
    other = Attention(**weights(), heads=4, tokens=6)
    with pytest.raises(ValueError, match="another layer"):
        layer(normal(6, 32), cache=other.cache(8))


def test_memory(layer, weights, normal):
    with pytest.raises(ValueError):
        layer(normal(6, 32), memory=normal(6, 32))
    cross = Attention(**weights(d_memory=20), heads=4, tokens=6, batch=2, memory_tokens=4)
    x = normal(2, 6, 32)
    with pytest.raises(ValueError, match="memory has 1 sequences, and x has 2"):
        cross(x, memory=normal(4, 20))
    with pytest.raises(ValueError, match="memory"):
        cross(x, memory=normal(2, 4, 21))
    with pytest.raises(ValueError, match="allowed is one of them"):
        cross(x, memory=normal(2, 4, 20), memory_lengths=[4, 2])
    with pytest.raises(ValueError):
        cross(x, memory=normal(2, 5, 20))


def test_weights(weights, normal):
    with pytest.raises(TypeError, match="key has dtype float64"):
        Attention(**{**weights(), "key": np.zeros((32, 32))}, heads=4, tokens=6)
    with pytest.raises(ValueError, match="query has shape"):
        Attention(**{**weights(), "query": normal(32)}, heads=4, tokens=6)
    with pytest.raises(ValueError, match="key"):
        Attention(**{**weights(), "key": normal(31, 32)}, heads=4, tokens=6)
    with pytest.raises(TypeError, match="query is a list"):
        Attention(**{**weights(), "query": [[1.0]]}, heads=4, tokens=6)
