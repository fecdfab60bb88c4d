"""A layer of a model over a second input, an encoder's output, as headroom computes it."""

from typing import Any, Dict, List, Optional, Union

import torch
from torch import Tensor

from .._arrays import as_array
from .._cache import KeyValueCache
from ._packed import why_gradients
from ._rows import Past, Reason, Rows, Shape, shown_in
from ._seen import NumberedMask, Pattern
from ._whole_layer import NO_CACHE, OWN_CACHE, WholeLayer, pieces


def tokens_of(mask: Optional[Tensor], shape: Shape, keys: int) -> Union[None, Tensor, Reason]:
    """``(batch, keys)``, true where the second input has a token; None: everywhere.

    Args:
        mask: of the layer, for all its queries the same
        shape: of the queries
        keys: tokens of the second input, padding included
    """
    if mask is None:
        return None
    told = mask.told if isinstance(mask, NumberedMask) else None
    if told is not None:
        if told.pattern != Pattern(False) or told.sizes[:3] != (*shape, keys):
            return "the mask is of another order or shape than the second input"
        there = told.padding
    else:
        shown = shown_in(mask.whole() if isinstance(mask, NumberedMask) else mask)
        if isinstance(shown, str):
            return shown
        if shown.shape[1] not in (1, shape.tokens) or shown.shape[2] != keys:
            return "the mask is of another shape than the second input"
        if not bool((shown == shown[:, :1]).all()):
            return "the mask shows other tokens of the second input to other rows"
        there = shown[:, 0].expand(shape.batch, -1)
    if there is None or bool(there.all()):
        return None
    if not bool(there.any(1).all()):
        return "a sequence has no token in the second input"
    return there


class CrossLayer(WholeLayer):
    """As ``WholeLayer``, of a layer whose keys and values are made of a second input.

    They are made once for a cache, whose part for cross-attention keeps them, and else once a call.
    """

    read = WholeLayer.read | {"key_value_states"}

    def _why_not(self, x: Tensor, given: Dict[str, Any]) -> Optional[str]:
        reason = super()._why_not(x, given)
        if reason is not None:
            return reason
        memory = given.get("key_value_states")
        if memory is None or memory.dim() != 3 or len(memory) != len(x) or 0 in memory.shape:
            return "the layer takes a second input of (batch, tokens, width)"
        if memory.dtype != self.dtype or memory.device.type != "cpu":
            return f"the layer takes a second input of {self.dtype} on the CPU"
        return why_gradients(memory)

    def _by_itself(self, reason: str, given: Dict[str, Any]) -> Any:
        # The model's own layer would look for tensors in the cache.
        cache = self._cache_of(given)
        if cache is not None and self._began(cache):
            raise self._cannot_go_on(reason)
        return super()._by_itself(reason, given)

    def _began(self, cache: Any) -> bool:
        """Whether this layer has put keys and values into the cache."""
        from ._packed_cache import PackedLayer

        layers = getattr(getattr(cache, "cross_attention_cache", None), "layers", [])
        kept = self.index < len(layers) and isinstance(layers[self.index], PackedLayer)
        return kept and bool(cache.is_updated.get(self.index))

    def _compute(self, x: Tensor, cache: Any, given: Dict[str, Any]) -> Union[Tensor, str]:
        memory = given["key_value_states"]
        mask = given.get("attention_mask", given.get("mask"))
        there = tokens_of(mask, Shape(*x.shape[:2]), memory.shape[1])
        if isinstance(there, str):
            return there
        with torch.no_grad():
            kept = self._kept(cache, memory, there)
            return kept if isinstance(kept, str) else self._run(x, Rows(), 0, kept)

    def _kept(
        self, cache: Any, memory: Tensor, there: Optional[Tensor]
    ) -> Union[KeyValueCache, Reason]:
        """Keys and values of the second input: made, or as the first call left them."""
        from ._packed_cache import packed_layer

        attention, batch, tokens = self.attention, *memory.shape[:2]
        lengths = [tokens] * batch if there is None else there.sum(1).tolist()
        if cache is None:
            kept = attention.cache(max(lengths), batch)
            self._fill(kept, memory, there, lengths)
            return kept
        if not hasattr(getattr(cache, "cross_attention_cache", None), "layers"):
            return NO_CACHE
        begun = self._began(cache)
        if not begun and cache.is_updated.get(self.index):
            return OWN_CACHE
        layer = packed_layer(cache.cross_attention_cache, self.index, attention, batch)
        if layer is None:
            return NO_CACHE
        if not begun:
            layer.reset()
            kept = layer.room(lengths, more=False)
            self._fill(kept, memory, there, lengths)
            layer.past = Past(tokens, there)
            cache.is_updated[self.index] = True
        elif tokens != layer.past.places or not _same(there, layer.past.there):
            raise self._cannot_go_on("its second input has other tokens than before")
        return layer.room([0] * batch)

    def _fill(
        self, kept: KeyValueCache, memory: Tensor, there: Optional[Tensor], lengths: List[int]
    ) -> None:
        """Appends the second input, no more rows at once than the layer is made for."""
        attention = self.attention
        rows = memory.flatten(0, 1) if there is None else memory[there]
        array = as_array(rows.contiguous())
        none = as_array(rows.new_empty(0, attention.config["d_in"]))
        out = as_array(rows.new_empty(0, attention._width))
        for first, counts in pieces(lengths, self.sizes):
            piece = array[first : first + sum(counts)]
            nothing = [0] * len(counts)
            attention(none, out, lengths=nothing, cache=kept, memory=piece, memory_lengths=counts)


def _same(one: Optional[Tensor], other: Optional[Tensor]) -> bool:
    if one is None or other is None:
        return one is other
    return torch.equal(one, other)
