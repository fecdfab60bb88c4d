"""What a layer is made of, as the extension module takes it."""

from typing import Any, Dict, Optional

import numpy as np

from . import _core
from ._arrays import Array, as_array
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
        return kv_heads
    if kv_width == d_out or heads < 1 or d_out % heads:
        return 0
    return kv_width // max(d_out // heads, 1)


def above_0(name: str, value: Optional[float]) -> float:
    """What the extension takes: 0 is there what None is here."""
    if value is not None and not value > 0:
        raise ValueError(f"{name} is {value}; allowed are numbers above 0 and None")
    return 0.0 if value is None else value


def set_rotary(config: _core.LayerConfig, rotary: Rotary) -> None:
    """Sets the rotary positions of a layer."""
    config.set_rotary(
        rotary.pairs,
        rotary.base,
        rotary.scale,
        rotary.width,
        list(rotary.divisors),
        rotary.amplitude,
    )
    config.set_sections(list(rotary.sections), rotary.interleaved)
    config.set_long_contexts(rotary.context, list(rotary.long_divisors), rotary.growth)


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


def options_of(
    *,
    backend: str = "auto",
    formulation: Optional[str] = None,
    threads: int = 0,
    isa: Optional[str] = None,
    unit: Optional[str] = None,
    kernels: str = "",
    precision: str = "f32",
    dtype: str = "f32",
    weights_dtype: Optional[str] = None,
    cache_dtype: Optional[str] = None,
    tuning_file: str = "",
) -> _core.Options:
    """As ``Attention`` takes them."""
    options = _core.Options()
    options.backend, options.formulation, options.threads = backend, formulation, threads
    options.isa, options.kernels, options.tuning_file = isa, kernels, tuning_file
    options.precision, options.dtype, options.unit = precision, dtype, unit
    options.weights_dtype = weights_dtype
    options.cache_dtype = cache_dtype
    return options
