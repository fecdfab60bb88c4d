"""Attention over queries, keys and values that you have, made once for calls up to some sizes."""

from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence

import numpy as np

from . import _core
from ._arrays import Array, mask_array
from ._attend import (
    answer,
    heads_of,
    listed,
    make_attend,
    rule_of,
    sinks_array,
    widened,
)
from ._cache import CacheOwner, KeyValueCache
from ._config import CacheOptions, options_of
from ._numbers import flag, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DotProductAttention(CacheOwner):
    """``softmax(scale q k^T + mask) v`` of each head, over a cache or not.

    ``headroom.attention`` makes what it needs at the first call of a kind, and has no cache. This
    is made once, for calls of up to ``batch`` sequences of ``tokens`` queries and ``keys`` keys.

    Args:
        heads: of queries
        head_dim: values of a head
        tokens: the most queries of one sequence in one call
        keys: the most keys of one sequence that come with one call; not those of a cache. Default:
            ``tokens``.
        batch: the most sequences of one call
        kv_heads: heads of keys and values, a divisor of ``heads``. Default: as many.
        causal: the last query sees all keys, the one before it all but the last, and so on.
        window: the most keys that a query sees back, its own included; without ``causal`` as many
            ahead.
        scale: of scores. Default: ``1 / sqrt(head_dim)``.
        softcap: scaled scores become ``softcap * tanh(score / softcap)``, before any mask.
        options: ``backend``, ``threads``, ``isa``, ``unit``, ``kernels``, ``precision``, ``dtype``,
            ``cache_dtype`` and ``tuning_file`` of ``Attention``. ``precision="int8"`` is for a
            ``cache_dtype`` of ``"q8"``, whose bytes it multiplies; other keys and values it takes as
            ``"f32"`` does.

    Raises:
        TypeError: an option is not known.
        ValueError: a size is below 1, or an option has no such value.
        RuntimeError: a backend or instruction set is not here, or declines.
    """

    def __init__(
        self,
        *,
        heads: int,
        head_dim: int,
        tokens: int,
        keys: Optional[int] = None,
        batch: int = 1,
        kv_heads: Optional[int] = None,
        causal: bool = False,
        window: Optional[int] = None,
        scale: Optional[float] = None,
        softcap: Optional[float] = None,
        **options: "Unpack[CacheOptions]",
    ) -> None:
        sizes = _core.Sizes()
        sizes.heads, sizes.head_dim = whole("heads", heads), whole("head_dim", head_dim)
        sizes.kv_heads = sizes.heads if not kv_heads else whole("kv_heads", kv_heads)
        sizes.batch, sizes.queries = whole("batch", batch), whole("tokens", tokens)
        sizes.keys = sizes.queries if keys is None else whole("keys", keys)
        self._options: Dict[str, Any] = {"dtype": "f32", **options}
        self._heads, self._kv_heads, self._head_dim = sizes.heads, sizes.kv_heads, sizes.head_dim
        rule = rule_of(flag("causal", causal), window, scale, softcap)
        self._core = make_attend(sizes, rule, options_of(self._options, CacheOptions))

    def __call__(
        self,
        query: Array,
        key: Optional[Array] = None,
        value: Optional[Array] = None,
        attn_mask: Optional[Array] = None,
        *,
        sinks: Optional[Array] = None,
        query_lengths: Optional[Sequence[int]] = None,
        key_lengths: Optional[Sequence[int]] = None,
        cache: Optional[KeyValueCache] = None,
        out: Optional[Array] = None,
    ) -> Array:
        """Attention of one call. The interpreter is unlocked meanwhile; calls take turns.

        Args:
            query: ``(batch, heads, tokens, head_dim)`` of any strides, as in ``attention``;
                with dtype ``"bf16"`` tensors of bfloat16 are read as they lie.
            key: ``(batch, kv_heads, keys, head_dim)``. With a cache it may be left out, with the
                values: then queries see what earlier calls left there.
            value: as ``key``
            attn_mask: as in ``headroom.attention``. With a cache it has as many keys as the longest
                sequence then has, or 1.
            sinks: one logit for each head of queries, ``(heads,)``: it is in the sum of the softmax
                and has no value.
            query_lengths: tokens of each sequence that are there. Rows after them are not read, and
                are 0 in a result that is made here.
            key_lengths: the same of the keys and values that come with the call.
            cache: made by ``cache()``. Keys and values are appended, and queries see all of both.
            out: array to write the result to, as ``query``.

        Returns:
            ``out``, or a new array as ``query``.

        Raises:
            TypeError: an array is none, or of another dtype.
            ValueError: a shape, stride, mask or length does not fit, ``out`` is read-only or
                overlaps, or the cache is of another object or has too little room. The cache is as
                before.
        """
        if (key is None) != (value is None) or (key is None and cache is None):
            raise ValueError("key and value may be left out together, and only with a cache")
        q = heads_of("query", widened(query, self._options))
        k = self._keys("key", key, q)
        v = self._keys("value", value, q)
        mask = mask_array("attn_mask", attn_mask)

        lengths = (listed(query_lengths), listed(key_lengths))
        more = sinks_array(sinks, q.shape[2])
        core = None if cache is None else cache._core

        def run(written: Any) -> None:
            self._core.run(q, k, v, written, mask, more, *lengths, core)

        return answer(run, query, q, out, options=self._options, zero=lengths[0] is not None)

    def _keys(self, name: str, x: Optional[Array], q: Any) -> Any:
        if x is None:
            x = np.empty((q.shape[0], self._kv_heads, 0, q.shape[3]), np.float32)
        return heads_of(name, widened(x, self._options))

    def __repr__(self) -> str:
        return (
            f"DotProductAttention(heads={self._heads}, kv_heads={self._kv_heads},"
            f" head_dim={self._head_dim}, {self.choice['backend']})"
        )
