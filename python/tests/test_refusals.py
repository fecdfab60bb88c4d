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


@pytest.mark.parametrize(
    "options, text",
    [
        (dict(heads=4.0), "heads is 4.0, of type float; allowed are whole numbers"),
        (dict(heads=[4]), r"heads is \[4\], of type list; allowed are whole numbers"),
        (dict(heads="4"), "heads is '4', of type str; allowed are whole numbers"),
        (dict(heads=None), "heads is None"),
        (dict(tokens=np.float32(6)), "tokens is .*, of type float32; allowed are whole numbers"),
        (dict(batch=2.5), "batch is 2.5"),
        (dict(kv_heads=2.0), "kv_heads is 2.0"),
        (dict(window=3.0), "window is 3.0"),
        (dict(chunk="x"), "chunk is 'x'"),
        (dict(threads=1.0), "threads is 1.0"),
        (dict(memory_tokens=4.0, causal=False), "memory_tokens is 4.0"),
        (dict(dropout="0.1"), "dropout is '0.1', of type str; allowed are numbers"),
        (dict(dropout_seed=1.5), "dropout_seed is 1.5"),
        (dict(scale=[1.0]), r"scale is \[1.0\], of type list; allowed are numbers"),
        (dict(softcap="1"), "softcap is '1'"),
        (dict(clip="1"), "clip is '1'"),
        (dict(causal="no"), "causal is 'no', of type str; allowed are True and False"),
        (dict(backend=3), "backend is 3, of type int; allowed are texts"),
        (dict(precision=None), "precision is None"),
        (dict(isa=2), "isa is 2"),
        (dict(rotary="halves", rotary_base="1e4"), "rotary base is '1e4'"),
        (dict(rotary=3), "rotary is 3, of type int; allowed are None and a headroom.Rotary"),
        (dict(norm="head"), "norm is 'head', of type str; allowed are None and a headroom.Query"),
        (dict(position_bias=1), "position_bias is 1"),
        (dict(latent=1), "latent is 1"),
        (dict(bakend="tbb"), "unexpected keyword argument 'bakend'"),
    ],
)
def test_types_of_options(weights, options, text):
    with pytest.raises(TypeError, match=text):
        Attention(**weights(), **{"heads": 4, "tokens": 6, **options})


def test_numbers_of_numpy(weights, normal):
    layer = Attention(
        **weights(), heads=np.int64(4), tokens=np.uint8(6), batch=np.int16(2), kv_heads=np.int32(4),
        window=np.int64(3), threads=np.int8(1), dropout=np.float32(0), scale=np.float64(0.5),
        causal=np.True_,
    )  # fmt: skip
    x = normal(2, 6, 32)
    plain = Attention(
        **weights(), heads=4, tokens=6, batch=2, window=3, threads=1, scale=0.5, causal=True
    )
    assert layer.config == plain.config
    cache = layer.cache(np.int64(8), np.int32(2))
    lengths = np.array([4, 6])
    layer(x, lengths=lengths, cache=cache, context=np.int64(0))
    cache.truncate(np.int64(1), sequence=np.int64(1))
    assert cache.lengths == [4, 1]
    q = normal(1, 4, 6, 8)
    once = headroom.DotProductAttention(
        heads=np.int64(4), head_dim=np.int64(8), tokens=np.int64(6), kv_heads=np.int64(4)
    )
    assert np.array_equal(once(q, q, q, query_lengths=np.array([6])), once(q, q, q))
    assert np.array_equal(
        headroom.attention(q, q, q, window=np.int64(2)), headroom.attention(q, q, q, window=2)
    )


def test_types_of_calls(layer, normal):
    x = normal(2, 6, 32)
    with pytest.raises(TypeError, match=r"lengths is \[4.0, 6\], of type list; allowed are"):
        layer(x, lengths=[4.0, 6])
    with pytest.raises(TypeError, match="lengths is 4, of type int; allowed are sequences"):
        layer(x, lengths=4)
    with pytest.raises(TypeError, match="context is 1.0"):
        layer(x, context=1.0)
    with pytest.raises(TypeError, match="capacity is 8.0, of type float; allowed are whole"):
        layer.cache(8.0)
    with pytest.raises(ValueError, match="capacity is 99999999999999999999; allowed are numbers"):
        layer.cache(99999999999999999999)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing: No such file or directory; check"):
        Attention.load(tmp_path / "nothing", tokens=4)
    (tmp_path / "text.safetensors").write_text("text")
    with pytest.raises(RuntimeError, match="text.safetensors"):
        Attention.load(tmp_path / "text.safetensors", tokens=4)


def test_unknown_options_are_named(normal):
    q = normal(1, 4, 6, 8)
    named = "'bakend' is no option; did you mean 'backend'.; allowed are backend, .*, unit"
    with pytest.raises(TypeError, match=named):
        headroom.attention(q, q, q, bakend="xsimd")
    with pytest.raises(TypeError, match=named):
        headroom.DotProductAttention(heads=4, head_dim=8, tokens=6, bakend="xsimd")
    # Options of layers, which attention alone does not have.
    for name in ("formulation", "weights_dtype", "cache_dtype"):
        with pytest.raises(TypeError, match=f"'{name}' is no option"):
            headroom.attention(q, q, q, **{name: "f32"})
    with pytest.raises(TypeError, match="threads is 1.0"):
        headroom.attention(q, q, q, threads=1.0)


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
        (lambda x: x.astype(">f4"), TypeError, "x has dtype >f4, .* another machine; .* astype"),
        (lambda x: x.astype(object), TypeError, "x has dtype object; allowed are numbers"),
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
