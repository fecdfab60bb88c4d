"""What models add to a layer, as ``Attention`` takes it."""

from typing import NamedTuple, Optional, Sequence

from ._arrays import Array


class Rotary(NamedTuple):
    """Rotary positions: pair ``i`` of a head at position ``p`` is turned by the angle
    ``p * scale * base ** (-2 i / width) / divisors[i]``. ``Attention`` explains ``positions``, and
    what a call's ``context`` is."""

    pairs: str
    """``"halves"`` (``i`` and ``i + width / 2``) or ``"neighbours"`` (``2 i`` and ``2 i + 1``)."""
    base: float = 10000.0
    scale: float = 1.0
    """Multiplies positions; below 1 stretches a context."""
    width: int = 0
    """Values of a head that are turned, its first ones; 0: all."""
    divisors: Sequence[float] = ()
    """One for each pair, above 0, or none: Llama 3's, YaRN's and LongRoPE's scaling."""
    amplitude: float = 1.0
    """Of cosines and sines; YaRN's attention factor."""
    sections: Sequence[int] = (0, 0, 0)
    """Pairs that turn by a token's position in time, height and width, all pairs together; zeros: a
    token has one position. ``mrope_section`` of Qwen2-VL and others."""
    interleaved: bool = False
    """The sections take turns, pair by pair, as in Qwen3-VL."""
    context: int = 0
    """Tokens up to which base and divisors hold; calls that reach further take the next ones. 0:
    always."""
    long_divisors: Sequence[float] = ()
    """LongRoPE's, as many as ``divisors``."""
    growth: float = 0.0
    """Above 0: the base of a call that reaches to ``n`` tokens is times ``(growth * n / context -
    (growth - 1)) ** (width / (width - 2))``, the ``dynamic`` scaling of ``transformers``."""


class QueryKeyNorm(NamedTuple):
    """Root-mean-square norm of queries and keys: ``x / sqrt(mean(x ** 2) + epsilon)``, times
    weights."""

    over: str
    """Whose mean it is: ``"head"``, each head's own, or ``"width"``, all heads' of a token."""
    query: Optional[Array] = None
    """``(head_dim,)`` or, over the width, ``(d_out,)``; with ``key``, or neither: no weights."""
    key: Optional[Array] = None
    """``(head_dim,)`` or ``(kv_heads * head_dim,)``."""
    epsilon: float = 1e-6
    after_rotary: bool = False
    """Applied to turned queries and keys; of heads only."""


class PositionBias(NamedTuple):
    """What is added to scaled scores by the distance of key and query."""

    values: Array
    """ALiBi: a slope for each head, ``(heads,)``. T5: a value for each bucket of distances and
    head, ``(buckets, heads)``; in a layer that is not causal, half of them for keys ahead."""
    farthest: int = 128
    """Of buckets: distances from here on share the last one."""


class Temperature(NamedTuple):
    """Queries grow with the logarithm of their position ``p``: times
    ``1 + scale * log(1 + floor((p + 1) / step))``, as in Llama 4."""

    step: float
    scale: float


class Latent(NamedTuple):
    """Keys and values that are made of a narrow vector of each token, DeepSeek's latent: its cache
    has nothing else. ``key`` and ``value`` of the layer are what it is multiplied by."""

    key_down: Array
    """``(d_in, rank + shared)``: of x, the latent and the last values of a key, which all heads
    share. They and the last ones of a query are what rotary positions turn."""
    key_norm: Array
    """``(rank,)``, weights of the latent's norm."""
    query_down: Optional[Array] = None
    """``(d_in, query_rank)``: another latent, which ``query`` is multiplied by; None: x is."""
    query_norm: Optional[Array] = None
    """``(query_rank,)``, with ``query_down``."""
    epsilon: float = 1e-6
    """Of both norms."""
