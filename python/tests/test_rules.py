"""What models add to a layer: read from a model's files, and given by hand."""

import json
import pathlib

import headroom
import numpy as np
import pytest
from headroom import Attention, Latent, PositionBias, QueryKeyNorm, Rotary, Temperature

import reference

MODELS = pathlib.Path(__file__).parents[2] / "tests" / "data" / "models"
ENTRIES = [
    one for one in json.loads((MODELS / "models.json").read_text()) if not one["features"]["cross"]
]
HERE = [backend["name"] for backend in headroom.backends() if backend["available"]]


def name_of(entry):
    return f"{entry['folder']}-{entry['file'].removesuffix('.safetensors')}"


def loaded(entry, **options):
    path = MODELS / entry["folder"] / "model.safetensors"
    expected = reference.arrays(MODELS / entry["folder"] / entry["file"])
    rows = max(len(expected["x"]), 1)
    stacks = entry["folder"] in ("t5", "whisper")  # a number fits two layers
    number = entry["module"] if stacks else entry["layer"]
    layer = Attention.load(path, tokens=rows, layer=number, **options)
    return layer, expected


@pytest.mark.parametrize("backend", HERE)
@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_a_layer_of_a_model(entry, backend):
    layer, data = loaded(entry, backend=backend)
    x = data["x"]
    if "positions" in data and data["positions"][0] != 0:
        pytest.skip("it stands at positions that a whole call does not begin with")
    assert reference.close(layer(x), data["expected"])


def test_latents_are_said():
    entry = next(one for one in ENTRIES if one["folder"] == "deepseek_v3")
    config = loaded(entry)[0].config
    assert config["latent"] == {"rank": 16, "query_rank": 24, "shared": 8, "epsilon": 1e-6}
    assert config["value_dim"] == 12 and config["d_out"] // config["heads"] == 16


def tensors_of(folder):
    """Of a model's layer."""
    parts = reference.arrays(MODELS / folder / "model.safetensors")
    prefix = "model.layers.1.self_attn."
    if folder == "t5":
        prefix = "encoder.block.0.layer.0.SelfAttention."
    return {
        name.removeprefix(prefix): part for name, part in parts.items() if name.startswith(prefix)
    }


def by_hand(folder):
    """The tensors of a model's layer, and those that every layer has, for the constructor."""
    own = tensors_of(folder)
    words = ("q", "k", "v", "o") if folder == "t5" else ("q_proj", "k_proj", "v_proj", "o_proj")
    products = {
        name: own[word + ".weight"].T
        for name, word in zip(("query", "key", "value", "output"), words)
    }
    biases = {
        f"{name}_bias": own[word + ".bias"]
        for name, word in zip(("query", "key", "value", "output"), words)
        if word + ".bias" in own
    }
    return own, {**products, **biases}


def rules_of(config):
    """What ``Attention.config`` says, as the constructor takes it; without what has arrays."""
    turned, bias = config["rotary"], config["position_bias"]
    assert bias["kind"] in ("none", "buckets")
    rotary = None
    if turned["pairs"] != "none":
        rotary = Rotary(**turned)
    return {
        "heads": config["heads"],
        "kv_heads": config["kv_heads"],
        "causal": config["causal"],
        "window": config["window"] or None,
        "chunk": config["chunk"] or None,
        "clip": config["clip"] or None,
        "rotary": rotary,
        "temperature": Temperature(*config["temperature"]) if config["temperature"][0] else None,
        "scale": config["scale"],
        "softcap": config["softcap"] or None,
    }


@pytest.mark.parametrize("folder", ["qwen3", "gemma2", "gpt_oss", "llama4", "qwen3_next", "t5"])
def test_the_same_by_hand(folder):
    entry = next(
        one for one in ENTRIES if one["folder"] == folder and (one["layer"] == 1 or folder == "t5")
    )
    model, data = loaded(entry)
    config = model.config
    own, parts = by_hand(folder)
    more = {}
    if "q_norm.weight" in own:
        one = 1 if folder == "qwen3_next" else 0
        norm = config["norm"]
        more["norm"] = QueryKeyNorm(
            norm["over"], own["q_norm.weight"] + one, own["k_norm.weight"] + one, norm["epsilon"]
        )
    elif config["norm"]["over"] != "none":
        more["norm"] = QueryKeyNorm(
            "head", epsilon=config["norm"]["epsilon"], after_rotary=config["norm"]["after_rotary"]
        )
    if config["sinks"]:
        more["sinks"] = own["sinks"]
    if folder == "t5":
        bias = config["position_bias"]
        more["position_bias"] = PositionBias(
            own["relative_attention_bias.weight"], bias["farthest"]
        )
    if config["gate"]:  # rows of each head's query, then of its gate
        both = parts["query"].T.reshape(config["heads"], 2, -1, parts["query"].shape[0])
        parts["query"], more["gate"] = (
            np.ascontiguousarray(both[:, i].reshape(-1, both.shape[-1]).T) for i in range(2)
        )
    layer = Attention(**parts, tokens=len(data["x"]), **rules_of(config), **more)
    assert layer.config == config
    assert np.array_equal(layer(data["x"]), model(data["x"]))


def latent_parts(folder, heads):
    own = tensors_of(folder)
    width = own["kv_b_proj.weight"].shape[0] // heads  # of a head's own key, and then its value
    both = own["kv_b_proj.weight"].reshape(heads, width, -1)
    through = "q_a_proj.weight" in own
    latent = Latent(
        own["kv_a_proj_with_mqa.weight"].T,
        own["kv_a_layernorm.weight"],
        own["q_a_proj.weight"].T if through else None,
        own["q_a_layernorm.weight"] if through else None,
    )
    parts = {
        "query": own["q_b_proj.weight" if through else "q_proj.weight"].T,
        "key": both[:, :8].reshape(heads * 8, -1).T,
        "value": both[:, 8:].reshape(heads * (width - 8), -1).T,
        "output": own["o_proj.weight"].T,
        "latent": latent,
    }
    return parts


@pytest.mark.parametrize("folder", ["deepseek_v3", "deepseek_plain", "deepseek_v2"])
def test_latents_by_hand(folder):
    entry = next(one for one in ENTRIES if one["folder"] == folder)
    model, data = loaded(entry)
    parts, rules = latent_parts(folder, 4), rules_of(model.config)
    layer = Attention(**parts, tokens=len(data["x"]), **rules)
    assert layer.config == model.config
    assert np.array_equal(layer(data["x"]), model(data["x"]))
    with pytest.raises(ValueError, match="one of query_down and query_norm"):
        one = parts["latent"]._replace(query_down=np.ones((32, 4), np.float32), query_norm=None)
        Attention(**{**parts, "latent": one}, tokens=4, **rules)
    with pytest.raises(ValueError, match="value"):
        Attention(**{**parts, "value": parts["value"][:-1]}, tokens=4, **rules)


def test_slopes_and_clips(weights, normal):
    parts = weights()
    x = normal(9, 32)
    slopes = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
    biased = Attention(**parts, heads=4, tokens=9, position_bias=PositionBias(slopes))
    assert biased.config["position_bias"]["kind"] == "slopes"
    assert not np.array_equal(biased(x), Attention(**parts, heads=4, tokens=9)(x))
    clipped = Attention(**parts, heads=4, tokens=9, clip=1e30)
    assert np.array_equal(clipped(x), Attention(**parts, heads=4, tokens=9)(x))
    tight = Attention(**parts, heads=4, tokens=9, clip=0.01)
    assert np.abs(tight(x)).max() < np.abs(clipped(x)).max()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"softcap": 0.0}, "softcap is 0.0; allowed are numbers above 0"),
        ({"scale": -1.0}, "scale is -1.0; allowed are numbers above 0"),
        ({"rotary": Rotary("half")}, "rotary is 'half'; allowed are 'halves', 'neighbours'"),
        ({"norm": QueryKeyNorm("token")}, "norm is 'token'; allowed are 'head', 'width'"),
        ({"norm": QueryKeyNorm("head", np.ones(8, np.float32))}, "one of query and key"),
        ({"norm": QueryKeyNorm("head", *[np.ones(7, np.float32)] * 2)}, "norm"),
        ({"sinks": np.ones(3, np.float32)}, "sinks"),
        ({"gate": np.ones((32, 8), np.float32)}, "gate"),
        ({"clip": -2.0}, "clip"),
        ({"chunk": -2}, "chunk"),
    ],
)
def test_what_is_refused(weights, given, message):
    with pytest.raises(ValueError, match=message):
        Attention(**weights(), heads=4, tokens=9, **given)


def test_files_that_are_no_model(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot read"):
        Attention.load(tmp_path / "nothing.safetensors", tokens=9)
    with pytest.raises(ValueError, match="^layer: '9' is not there"):
        Attention.load(MODELS / "qwen3" / "model.safetensors", tokens=9, layer=9)


@pytest.mark.parametrize("backend", HERE)
def test_a_temperature_counts_padding(weights, normal, backend):
    warm = dict(heads=4, tokens=5, batch=2, backend=backend, temperature=Temperature(4, 0.5))
    layer, x = Attention(**weights(), **warm), normal(2, 5, 32)
    none, some = layer(x), layer(x, places_before=[0, 4])
    assert np.array_equal(some[0], none[0]) and not np.allclose(some[1], none[1], rtol=1e-3)
    cache = layer.cache(9, 2)
    parts = [
        layer(one, cache=cache, places_before=[0, 4]) for one in (x[:, :2].copy(), x[:, 2:].copy())
    ]
    assert np.array_equal(np.concatenate(parts, 1), some)
    with pytest.raises(ValueError, match="1 places_before for 2 sequences"):
        layer(x, places_before=[1])
