"""A layer of a cache of ``transformers`` whose keys and values lie in one of headroom."""

from typing import Any, List, Optional

import torch
from torch import Tensor
from transformers.cache_utils import CacheLayerMixin

from .._cache import KeyValueCache
from .._layer import Attention
from ._rows import Past


class PackedLayer(CacheLayerMixin):  # type: ignore[misc, no-untyped-call, unused-ignore]
    """It has a length, can be cropped, reordered and reset, and has no tensors to show."""

    is_compileable = False
    is_croppable = True

    def __init__(self, attention: Attention, batch: int, theirs: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.is_initialized = True
        self.attention = attention
        self.batch_size = batch
        self.theirs = theirs  # stays empty; says for which keys masks are made
        self.past = Past()
        self._kept: Optional[KeyValueCache] = None

    def room(self, new: List[int], more: bool = True) -> KeyValueCache:
        """The cache, with room for so many new tokens of each sequence, and for more to come."""
        kept = self._kept
        old = [0] * self.batch_size if kept is None else kept.lengths
        needed = max(a + b for a, b in zip(old, new))
        if kept is None or needed > kept.capacity:
            capacity = needed + (max(256, needed // 4) if more else 0)
            self._kept = self.attention.cache(max(capacity, 1), self.batch_size)
            if kept is not None:
                self._kept.take(kept, range(self.batch_size))
            kept = self._kept
        return kept

    def _sequences(self, which: List[int]) -> None:
        kept = self._kept
        if kept is not None:
            self._kept = self.attention.cache(kept.capacity, len(which))
            self._kept.take(kept, which)
        there, offsets = self.past.there, self.past.offsets
        self.past = self.past._replace(
            there=None if there is None else there[which],
            offsets=None if offsets is None else [offsets[i] for i in which],
        )
        self.batch_size = len(which)

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing: there are no tensors."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Raises:
        RuntimeError: always.
        """
        raise RuntimeError(
            "headroom: the keys and values of this cache lie in the layout of an accelerated layer,"
            " and another function wants to go on with them; start with a new cache"
        )

    @property
    def is_sliding(self) -> bool:
        return bool(self.theirs.is_sliding)

    def get_mask_sizes(self, query_length: int) -> Any:
        """Those of the layer that it replaces, so that masks fit layers of both kinds."""
        if type(self.theirs).__name__ == "DynamicLayer":
            return self.past.places + int(query_length), 0
        for name in ("cumulative_length", "cumulative_length_int"):
            value = getattr(self.theirs, name, None)
            if isinstance(value, Tensor):
                value.fill_(self.past.places)
            elif value is not None:
                setattr(self.theirs, name, self.past.places)
        return self.theirs.get_mask_sizes(query_length)

    def get_seq_length(self) -> int:
        return self.past.places

    def get_max_length(self) -> int:
        return int(self.theirs.get_max_length())

    def offload(self) -> None:
        """Nothing: keys and values are of the CPU."""

    def prefetch(self) -> None:
        """As ``offload``."""

    def reset(self) -> None:
        if self._kept is not None:
            self._kept.clear()
        self.past = Past()

    def crop(self, tokens_to_remove: int) -> None:
        """Forgets the last places; as in ``transformers``, their number is negative."""
        count = -int(tokens_to_remove)
        if not 0 <= count <= self.past.places:
            raise ValueError(
                f"crop: {tokens_to_remove} of {self.past.places} tokens; give a number from"
                f" {-self.past.places} to 0"
            )
        places, there = self.past.places - count, self.past.there
        lost = [count] * self.batch_size
        if there is not None:
            lost = there[:, places:].sum(1).tolist()
            there = there[:, :places]
        if self._kept is not None:
            for i, (length, fewer) in enumerate(zip(self._kept.lengths, lost)):
                self._kept.truncate(length - fewer, sequence=i)
        self.past = self.past._replace(places=places, there=there) if places else Past()

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self._sequences(beam_idx.tolist())

    def batch_repeat_interleave(self, repeats: int) -> None:
        self._sequences([i for i in range(self.batch_size) for _ in range(repeats)])

    def batch_select_indices(self, indices: Tensor) -> None:
        self._sequences(torch.arange(self.batch_size)[indices].tolist())


def packed_layer(
    cache: Any, index: int, attention: Attention, batch: int
) -> "Optional[PackedLayer]":
    """The layer in a cache, which replaces one of ``transformers`` that is still empty; None if
    that has keys, or is of a kind that does more than keep them."""
    while cache.layer_class_to_replicate is not None and len(cache.layers) <= index:
        cache.layers.append(cache.layer_class_to_replicate())
    layer = cache.layers[index]
    if isinstance(layer, PackedLayer):
        if layer.attention is attention and layer.batch_size == batch:
            return layer
        raise ValueError(
            f"headroom: the cache was begun by {layer.batch_size} sequences of a layer, and the"
            f" call has {batch} of that or another layer (other weights); start with a new cache"
        )
    if type(layer).__name__ not in _PLAIN or cache.offloading or int(layer.get_seq_length()) > 0:
        return None
    made = PackedLayer(attention, batch, layer)
    cache.layers[index] = made
    return made


_PLAIN = frozenset(
    (
        "DynamicLayer",
        "DynamicSlidingWindowLayer",
        "StaticLayer",
        "StaticSlidingWindowLayer",
    )
)
