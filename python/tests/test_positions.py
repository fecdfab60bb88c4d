"""Positions that a call gives, and rotary positions that change in long contexts."""

import pathlib

import headroom
import numpy as np
import pytest
from headroom import Attention, Rotary

import reference

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "data" / "rotary"
HERE = [backend["name"] for backend in headroom.backends() if backend["available"]]
SECTIONS = Rotary("halves", 100.0, sections=(1, 2, 1))


@pytest.fixture
def layer(weights):
    def make(**options):
        given = {"rotary": Rotary("halves", 100.0), "batch": 2, "backend": "xsimd", **options}
        return Attention(**weights(), heads=4, tokens=9, **given)

    return make


@pytest.mark.parametrize("backend", HERE)
@pytest.mark.parametrize("name", ["qwen2_vl", "qwen3_vl", "llama_dynamic", "phi_longrope"])
def test_calls_of_a_model(name, backend):
    data = reference.arrays(FOLDER / name / "calls.safetensors")
    x, rows = data["x"], data["rows"].astype(int)
    for spelling in ("config.json", "published.json"):
        made = Attention.load(
            FOLDER / name / "model.safetensors",
            config=FOLDER / name / spelling,
            layer=1,
            tokens=len(x),
            backend=backend,
        )
        cache = made.cache(len(x))
        given = {}
        if "positions" in data:
            given["positions"] = data["positions"].astype(np.int64)
        parts = [
            made(x[end - count : end], cache=cache, **given)
            for count, end in zip(rows, np.cumsum(rows))
        ]
        assert reference.close(np.concatenate(parts), data["expected"])


def test_places_are_what_positions_are_without_them(layer, normal):
    for rotary in (Rotary("halves", 100.0), SECTIONS):
        one = layer(rotary=rotary)
        x = normal(2, 9, 32)
        places = np.tile(np.arange(9), (2, 1))
        assert np.array_equal(one(x, positions=places), one(x))
        assert not np.array_equal(one(x, positions=places[:, ::-1]), one(x))
    three = np.stack([places, places, places])
    assert np.array_equal(one(x, positions=three), one(x))
    three[2, 1, 4] = 0
    changed = one(x, positions=three) != one(x)
    assert changed[1, 4:].any() and not changed[0].any() and not changed[1, :4].any()


def test_a_cache_keeps_positions(layer, normal):
    one, x = layer(rotary=SECTIONS), normal(2, 9, 32)
    positions = np.arange(54).reshape(3, 2, 9) * 7 % 11
    cache = one.cache(9, 2)
    first, last = x[:, :4].copy(), x[:, 4:].copy()
    one.append(first, cache, positions=positions[:, :, :4])
    rest = one(last, cache=cache, positions=positions[:, :, 4:])
    assert np.array_equal(rest, one(x, positions=positions)[:, 4:])


def test_chunks_say_how_long_it_will_be(layer, normal):
    rotary = Rotary("halves", 100.0, context=4, growth=2.0)
    one, x = layer(rotary=rotary, batch=1), normal(9, 32)
    whole, cache = one(x), one.cache(9)
    one.append(x[:3], cache, context=9)
    assert np.array_equal(one(x[3:], cache=cache, context=9), whole[3:])
    cache.clear()
    one.append(x[:3], cache)
    assert not np.array_equal(one(x[3:], cache=cache), whole[3:])
    assert one.config["rotary"]["growth"] == 2 and one.config["rotary"]["context"] == 4


def test_what_does_not_fit(layer, normal):
    one, x = layer(), normal(2, 9, 32)
    with pytest.raises(TypeError, match="allowed are whole numbers"):
        one(x, positions=np.zeros((2, 9)))
    with pytest.raises(ValueError, match=r"shape \(9,\)"):
        one(x, positions=np.arange(9))
    with pytest.raises(ValueError, match="54 positions for 18 rows"):
        one(x, positions=np.zeros((3, 2, 9), int))
    with pytest.raises(ValueError, match="position of row 1 is -1"):
        one(x, positions=np.arange(18).reshape(2, 9) * -1)
    with pytest.raises(ValueError, match="turns nothing"):
        layer(rotary=None)(x, positions=np.zeros((2, 9), int))
    with pytest.raises(ValueError, match="add up to the 4 pairs"):
        layer(rotary=Rotary("halves", sections=(1, 1, 1)))
    with pytest.raises(ValueError, match="allowed are three"):
        layer(rotary=Rotary("halves", sections=(1, 3)))
    with pytest.raises(ValueError, match="none of the three"):
        layer(rotary=Rotary("halves", growth=2.0))
