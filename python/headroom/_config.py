"""What a layer is made of, as the extension module takes it."""

import os
from difflib import get_close_matches
from typing import Any, Dict, Mapping, Optional, TypedDict, Union

import numpy as np

from . import _core
from ._arrays import Array, as_array
from ._numbers import real, text, whole, wholes
from ._rules import Latent, PositionBias, QueryKeyNorm, Rotary, Temperature


def weights_of(parts: Dict[str, Optional[Array]]) -> _core.Weights:
    weights = _core.Weights()
    for name, array in parts.items():
        if array is not None:
            setattr(weights, name, as_array(array))
    return weights


def with_zero_biases(weights: _core.Weights) -> bool:
    """Gives parts without a bias one of zeros if another part has one; says whether one has."""
    names = ("query", "key", "value")
    found = [getattr(weights, name + "_bias") != (0,) for name in names]
    if any(found):
        for name, has_bias in zip(names, found):
            if not has_bias:
                width = getattr(weights, name)[1]
                setattr(weights, name + "_bias", np.zeros(width, np.float32))
    return any(found)


def kv_heads_of(kv_heads: Optional[int], heads: int, d_out: int, kv_width: int) -> int:
    if kv_heads is not None:
        return whole("kv_heads", kv_heads)
    if kv_width == d_out or heads < 1 or d_out % heads:
        return 0
    return kv_width // max(d_out // heads, 1)


def above_0(name: str, value: Optional[float]) -> float:
    """What the extension takes: 0 is there what None is here."""
    if value is None:
        return 0.0
    number = real(name, value)
    if not number > 0:
        raise ValueError(f"{name} is {value}; allowed are numbers above 0 and None")
    return number


def set_rotary(config: _core.LayerConfig, rotary: Rotary) -> None:
    """Sets the rotary positions of a layer."""
    config.set_rotary(
        text("rotary pairs", rotary.pairs),
        real("rotary base", rotary.base),
        real("rotary scale", rotary.scale),
        whole("rotary width", rotary.width),
        [real("a rotary divisor", one) for one in rotary.divisors],
        real("rotary amplitude", rotary.amplitude),
    )
    config.set_sections(wholes("rotary sections", rotary.sections), rotary.interleaved)
    config.set_long_contexts(
        whole("rotary context", rotary.context),
        [real("a rotary long divisor", one) for one in rotary.long_divisors],
        real("rotary growth", rotary.growth),
    )


def add_rules(
    config: _core.LayerConfig,
    weights: _core.Weights,
    norm: Optional[QueryKeyNorm],
    bias: Optional[PositionBias],
    temperature: Optional[Temperature],
) -> None:
    if norm is not None:
        if (norm.query is None) != (norm.key is None):
            raise ValueError("norm has weights for one of query and key; give both, or neither")
        weighted = norm.query is not None
        config.set_norm(norm.over, weighted, norm.after_rotary, norm.epsilon)
        if weighted:
            weights.query_norm, weights.key_norm = as_array(norm.query), as_array(norm.key)
    if bias is not None:
        values: Any = as_array(bias.values)
        slopes = np.ndim(values) == 1
        kind = "slopes" if slopes else "buckets"
        config.set_position_bias(kind, 0 if slopes else len(values), 0 if slopes else bias.farthest)
        weights.position_bias = values.reshape(1, -1) if slopes else values
    if temperature is not None:
        config.set_temperature(*temperature)


def add_latent(config: _core.LayerConfig, weights: _core.Weights, latent: Latent) -> None:
    """Before widths are read: those of the weights behind the latent are others."""
    if (latent.query_down is None) != (latent.query_norm is None):
        raise ValueError("latent has one of query_down and query_norm; give both, or neither")
    weights.key_down, weights.key_down_norm = as_array(latent.key_down), as_array(latent.key_norm)
    query_rank = 0
    if latent.query_down is not None:
        weights.query_down = as_array(latent.query_down)
        weights.query_down_norm = as_array(latent.query_norm)
        query_rank = weights.query_down[1]
    (rank,) = weights.key_down_norm
    config.d_in, width = weights.key_down
    config.set_latent(rank, query_rank, width - rank, latent.epsilon)
    heads = max(config.heads, 1)
    value_dim = weights.value[1] // heads
    config.value_dim = 0 if value_dim == config.d_out // heads else value_dim


class AttendOptions(TypedDict, total=False):
    """Options of attention over queries, keys and values, as ``Attention`` explains them."""

    backend: str
    threads: int
    isa: Optional[str]
    unit: Optional[str]
    kernels: str
    precision: str
    dtype: str
    tuning_file: "Union[str, os.PathLike[str]]"


class CacheOptions(AttendOptions, total=False):
    """With caches."""

    cache_dtype: Optional[str]


class LayerOptions(CacheOptions, total=False):
    """Of a whole layer."""

    formulation: Optional[str]
    weights_dtype: Optional[str]


_DEFAULTS: Dict[str, Any] = {
    "backend": "auto",
    "formulation": None,
    "threads": 0,
    "isa": None,
    "unit": None,
    "kernels": "",
    "precision": "f32",
    "dtype": "f32",
    "weights_dtype": None,
    "cache_dtype": None,
    "tuning_file": "",
}


def options_of(options: Mapping[str, Any], known: Any = LayerOptions) -> _core.Options:
    """As the extension module takes them.

    Args:
        known: a class of options that names all that are allowed

    Raises:
        TypeError: one is not known, or of another type.
    """
    names = sorted(known.__optional_keys__)
    for name in options:
        if name not in names:
            near = "".join(f"; did you mean {one!r}?" for one in get_close_matches(name, names, 1))
            raise TypeError(f"{name!r} is no option{near}; allowed are {', '.join(names)}")
    made = _core.Options()
    for name, default in _DEFAULTS.items():
        value = options.get(name, default)
        if name == "threads":
            value = whole(name, value)
        elif value is not None or default is not None:
            value = text(name, os.fspath(value) if isinstance(value, os.PathLike) else value)
        setattr(made, name, value)
    return made
