"""What a layer computes, and its calls."""

import headroom
import numpy as np
import pytest
from headroom import Attention

import reference

HERE = [backend["name"] for backend in headroom.backends() if backend["available"]]

SHAPES = {
    "plain": dict(heads=4),
    "one_head": dict(heads=1),
    "unmasked": dict(heads=4, causal=False),
    "grouped": dict(heads=4, kv_width=16),
    "multi_query": dict(heads=8, kv_width=4),
    "window": dict(heads=2, window=3),
    "rotary_halves": dict(heads=4, rotary="halves"),
    "rotary_neighbours": dict(heads=4, rotary="neighbours", rotary_base=500.0, rotary_scale=0.5),
    "widths": dict(heads=4, d_in=24, d_proj=10),
}


def test_the_backends_of_the_wheel_are_here():
    assert {"naive", "autovec", "xsimd", "tbb"} <= set(HERE)


@pytest.mark.parametrize("backend", HERE)
@pytest.mark.parametrize("shape", SHAPES)
def test_is_the_definition(weights, normal, backend, shape):
    options = dict(SHAPES[shape])
    sizes = {name: options.pop(name) for name in ("kv_width", "d_in", "d_proj") if name in options}
    parts = weights(**sizes)
    layer = Attention(**parts, tokens=13, backend=backend, **options)
    assert layer.choice["backend"] == backend
    x = normal(1, 13, parts["query"].shape[0])[0]
    assert reference.close(layer(x), reference.attention(x, **parts, **options))


def test_biases_and_their_absence(weights, normal):
    parts = weights()
    biases = {"query_bias": normal(32), "value_bias": normal(32), "output_bias": normal(32)}
    layer = Attention(**parts, **biases, heads=4, tokens=9)
    x = normal(9, 32)
    assert reference.close(layer(x), reference.attention(x, **parts, **biases, heads=4))


def test_no_output_projection(weights, normal):
    parts = weights()
    parts.pop("output")
    x = normal(9, 32)
    layer = Attention(**parts, heads=4, tokens=9)
    assert reference.close(layer(x), reference.attention(x, **parts, heads=4))


def test_transposed_weights_are_read_as_they_lie(weights, normal):
    parts = weights()
    x = normal(9, 32)
    stored = {name: np.ascontiguousarray(part.T).T for name, part in parts.items()}
    assert not stored["query"].flags.c_contiguous
    want = Attention(**parts, heads=4, tokens=9)(x)
    assert np.array_equal(Attention(**stored, heads=4, tokens=9)(x), want)


def test_batch_is_each_sequence_alone(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=6, batch=3)
    x = normal(3, 6, 32)
    assert np.array_equal(layer(x), np.stack([layer(one) for one in x]))


def test_batches_of_another_size(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=6, batch=3)
    x = normal(9, 2, 32)
    assert np.array_equal(layer(x), np.stack([layer(one) for one in x]))


def test_lengths_without_gaps(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=6, batch=3)
    x = normal(9, 32)
    y = layer(x, lengths=[2, 6, 1])
    assert np.array_equal(y, np.concatenate([layer(x[:2]), layer(x[2:8]), layer(x[8:])]))


def test_padding_is_not_read_and_zero_in_a_new_result(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=6, batch=3)
    x = normal(3, 6, 32)
    x[0, 2:] = np.nan
    x[1] = np.nan
    y = layer(x, lengths=np.array([2, 0, 6]))
    assert np.array_equal(y[0, :2], layer(x[0, :2])) and np.array_equal(y[2], layer(x[2]))
    assert not y[0, 2:].any() and not y[1].any()


def test_padding_on_the_left(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=6, batch=3)
    x = normal(3, 6, 32)
    x[0, :4] = np.nan
    x[1] = np.nan
    y = layer(x, lengths=[2, 0, 6], padding_side="left")
    assert np.array_equal(y[0, 4:], layer(x[0, 4:])) and np.array_equal(y[2], layer(x[2]))
    assert not y[0, :4].any() and not y[1].any()
    cache = layer.cache(6, 3)
    layer.append(x, cache, lengths=[2, 0, 6], padding_side="left")
    assert cache.lengths == [2, 0, 6]
    with pytest.raises(ValueError, match="padding_side is 'before'; allowed are"):
        layer(x, lengths=[2, 0, 6], padding_side="before")
    with pytest.raises(ValueError, match="x has 2 dimensions, which have no padding"):
        layer(x[0], padding_side="left")


def test_padding_of_out_is_left_alone(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=6, batch=2)
    x, out = normal(2, 6, 32), np.full((2, 6, 32), 5, np.float32)
    assert layer(x, out, lengths=[3, 6]) is out
    assert (out[0, 3:] == 5).all() and not (out[0, :3] == 5).any()


def test_a_cache_gives_the_same_bits(weights, normal):
    layer = Attention(**weights(kv_width=16), heads=4, tokens=20, rotary="halves", window=7)
    x = normal(20, 32)
    whole = layer(x)
    cache = layer.cache(capacity=32)
    steps = [layer(x[:15], cache=cache)] + [layer(x[t : t + 1], cache=cache) for t in range(15, 20)]
    assert np.array_equal(np.concatenate(steps), whole)
    assert cache.lengths == [20] and cache.capacity == 32 and cache.nbytes > 0
    cache.truncate(18)
    assert np.array_equal(layer(x[18:], cache=cache), whole[18:])


def test_append_computes_no_output_and_keeps_the_bits(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=20)
    x = normal(20, 32)
    cache = layer.cache(20)
    layer.append(x[:19], cache)
    assert np.array_equal(layer(x[19:], cache=cache), layer(x)[19:])


def test_a_cache_of_several_sequences(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=8, batch=2)
    x = normal(2, 8, 32)
    whole, cache = layer(x), layer.cache(capacity=8, sequences=2)
    layer(x[:, :5].copy(), cache=cache)
    y = layer(x[0, 5:], lengths=[3, 0], cache=cache)
    assert np.array_equal(y, whole[0, 5:]) and cache.lengths == [8, 5]
    cache.clear()
    assert cache.lengths == [0, 0]


def test_cross_attention(weights, normal):
    parts = weights(d_memory=20)
    layer = Attention(**parts, heads=4, tokens=5, batch=2, memory_tokens=7)
    x, memory = normal(2, 5, 32), normal(2, 7, 20)
    y = layer(x, memory=memory)
    for one in range(2):
        want = reference.attention(x[one], **parts, heads=4, memory=memory[one])
        assert reference.close(y[one], want)
    ragged = layer(x, memory=memory.reshape(14, 20)[:10], memory_lengths=[7, 3])
    assert np.array_equal(ragged[0], y[0])
    assert reference.close(
        ragged[1], reference.attention(x[1], **parts, heads=4, memory=memory[1, :3])
    )


def test_cross_attention_from_its_cache(weights, normal):
    layer = Attention(**weights(d_memory=20), heads=4, tokens=5, memory_tokens=7)
    x, memory = normal(5, 32), normal(7, 20)
    cache = layer.cache(7)
    first = layer(x[:1], memory=memory, cache=cache)
    rest = layer(x[1:], cache=cache)
    assert np.array_equal(np.concatenate([first, rest]), layer(x, memory=memory))


def test_nothing_in_is_nothing_out(weights, normal):
    layer = Attention(**weights(), heads=4, tokens=5, batch=2)
    assert layer(np.empty((0, 32), np.float32)).shape == (0, 32)
    assert layer(np.empty((2, 0, 32), np.float32)).shape == (2, 0, 32)
    assert layer(np.empty((0, 5, 32), np.float32)).shape == (0, 5, 32)


def test_says_who_computes_it(weights):
    layer = Attention(
        **weights(), heads=4, tokens=5, backend="xsimd", isa="sse4.2", formulation="split"
    )
    assert layer.choice["isa"] == "sse4.2" and layer.choice["formulation"] == "split"
    assert layer.costs["packed_bytes"] > 0 and "sse4.2" in layer.costs["project_provenance"]
    assert "xsimd" in repr(layer)


def test_the_precision_may_be_left_open(weights):
    layer = Attention(**weights(), heads=4, tokens=5, precision="auto")
    assert layer.choice["precision"] == "f32", "five rows are too few for any unit"
    assert "by rule" in layer.choice["precision_reason"]


def test_a_tuning_file_that_is_not_used_is_a_warning(weights, tmp_path):
    with pytest.warns(RuntimeWarning, match="nothing.json"):
        Attention(**weights(), heads=4, tokens=5, tuning_file=str(tmp_path / "nothing.json"))


def stored(weights, bits):
    """Groups of 32 down each column, as GGUF's Q8_0 and Q4_0 are rounded."""
    out = np.empty_like(weights)
    for first in range(0, len(weights), 32):
        group = weights[first : first + 32]
        at = np.abs(group).argmax(axis=0)
        largest = np.take_along_axis(group, at[None], axis=0)
        scale = np.abs(largest) / np.float32(127) if bits == 8 else largest / np.float32(-8)
        steps = group * (np.float32(1) / scale)
        if bits == 8:
            steps = np.trunc(steps + np.copysign(np.float32(0.5), steps))
        else:
            steps = np.minimum(np.floor(steps + np.float32(0.5)), 7)
        out[first : first + 32] = scale.astype(np.float16).astype(np.float32) * steps
    return out


@pytest.mark.parametrize("backend", [name for name in HERE if name != "onednn"])
def test_a_cache_in_eight_bits(weights, normal, backend):
    parts = weights(d_in=40)
    x = normal(150, 40)
    options = dict(heads=4, causal=True, tokens=150, backend=backend)
    layer = Attention(**parts, cache_dtype="q8", **options)
    whole = layer(x)
    exact = Attention(**parts, **options)(x)
    error = np.linalg.norm(whole - exact) / np.linalg.norm(exact)
    assert 1e-4 < error < 2e-2
    cache = layer.cache(150)
    steps = [layer(x[first : first + 50], cache=cache) for first in range(0, 150, 50)]
    assert np.array_equal(np.concatenate(steps), whole)
    with pytest.raises(ValueError, match="rounded together"):
        cache.truncate(100)


@pytest.mark.parametrize("backend", [name for name in HERE if name != "onednn"])
@pytest.mark.parametrize("bits", [8, 4])
def test_weights_in_few_bits(weights, normal, backend, bits):
    parts = weights(d_in=40)
    rounded = {name: stored(part, bits) for name, part in parts.items()}
    x = normal(9, 40)
    layer = Attention(**parts, heads=4, tokens=9, backend=backend, weights_dtype=f"q{bits}")
    assert np.array_equal(layer(x), Attention(**rounded, heads=4, tokens=9, backend=backend)(x))
    exact = Attention(**parts, heads=4, tokens=9, backend=backend)
    if backend == "xsimd":
        assert layer.costs["packed_bytes"] < exact.costs["packed_bytes"] / 2  # 40 rows are two groups
