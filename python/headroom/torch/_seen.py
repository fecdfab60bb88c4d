"""Masks of ``transformers`` as numbers: an order, a window, how many keys there are.

Nothing here needs ``transformers`` or the extension module.
"""

from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_map


class Pattern(NamedTuple):
    """Which keys a query sees by their places."""

    causal: bool
    window: int = 0  # keys back, its own included; without causal as many ahead; 0: all
    chunk: int = 0  # places in one block of so many see each other; 0: all


class Seen(NamedTuple):
    """Which keys the queries of a call see, as the kernels take it.

    With an order or a window the last query of a sequence stands at its last key.
    """

    causal: bool = False
    window: int = 0
    query_lengths: Optional[List[int]] = None  # rows after them are padding
    key_lengths: Optional[List[int]] = None
    keys: Optional[Tensor] = None  # (batch, 1, 1, keys) of bool: true where a key is seen


class Sizes(NamedTuple):
    """Of a mask; offsets are the places of the first query and the first key."""

    batch: int
    queries: int
    keys: int
    first_query: int = 0
    first_key: int = 0


_MASKS = "transformers.masking_utils"


def _captured(function: Callable[..., Any]) -> List[Any]:
    return [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]


def pattern_of(function: Callable[..., Any]) -> Optional[Pattern]:
    """What a mask function of ``transformers`` says; None if it is another one.

    They are told by their names and by what they have captured, which is what they were made of.
    """
    if getattr(function, "__module__", None) != _MASKS:
        return None
    name, captured = function.__qualname__.replace(".<locals>", ""), _captured(function)
    if name == "causal_mask_function":
        return Pattern(True)
    if name == "bidirectional_mask_function":
        return Pattern(False)
    if name != "and_masks.and_mask" or len(captured) != 1 or len(captured[0]) != 2:
        return None
    overlay, order = captured[0]
    plain = pattern_of(order)
    if plain not in (Pattern(True), Pattern(False)):
        return None
    return _overlaid(overlay, plain == Pattern(True))


def _overlaid(overlay: Callable[..., Any], causal: bool) -> Optional[Pattern]:
    """What an overlay makes of the causal pattern, or of the one that shows everything."""
    if getattr(overlay, "__module__", None) != _MASKS:
        return None
    kind = overlay.__qualname__.split(".")[0]
    size = [one for one in _captured(overlay) if isinstance(one, int)]
    if len(size) != 1:
        return None
    if kind == "sliding_window_overlay" and causal:
        return Pattern(True, size[0])
    if kind == "sliding_window_bidirectional_overlay" and not causal:
        return Pattern(False, size[0] + 1)  # that one is a distance
    if kind == "chunked_overlay" and causal:  # counted from the first token that is no padding
        return Pattern(True, 0, size[0])
    return None


def seen_of(pattern: Pattern, padding: Optional[Tensor], sizes: Sizes) -> Optional[Seen]:
    """The numbers; None if there are none that say the same.

    Args:
        pattern: by places
        padding: ``(batch, keys)`` of bool, true where there is a token; None: everywhere
        sizes: of the mask. Keys after the last query's place may be room that is not used yet.
    """
    causal, window, chunk = pattern
    if chunk and sizes.first_query + sizes.queries > chunk:
        return None
    end = sizes.keys
    if causal or window:
        end = sizes.first_query + sizes.queries - sizes.first_key
        if not sizes.queries <= end <= sizes.keys or (end < sizes.keys and not causal):
            return None
        window = 0 if window >= end else window
    lengths, keys = _keys_of(padding, end, as_mask=window > 0 and not causal)
    queries = None
    if lengths is not None:
        before = end - sizes.queries if causal else 0
        most = lengths if causal else [sizes.queries if n else 0 for n in lengths]
        queries = [max(n - before, 0) for n in most]
        queries = None if min(queries) == sizes.queries else queries
    elif end < sizes.keys:
        lengths = [end] * sizes.batch
    ordered = causal and (sizes.queries > 1 or window > 0)
    return Seen(ordered, window, queries, lengths, keys)


def _keys_of(
    padding: Optional[Tensor], end: int, as_mask: bool
) -> Tuple[Optional[List[int]], Optional[Tensor]]:
    """How many keys there are, if all others come after them; else which."""
    if padding is None:
        return None, None
    there = padding[:, :end]
    if bool(there.all()):
        return None, None
    counts = there.sum(dim=1, keepdim=True)
    trailing = bool((there == (torch.arange(end) < counts)).all())
    if trailing and not as_mask:
        return counts[:, 0].tolist(), None
    return None, padding[:, None, None, :]


def whole_mask(seen: Seen, sizes: Sizes) -> Tensor:
    """``(batch, 1, queries, keys)`` of what the kernels make of the numbers."""
    lengths = torch.tensor(seen.key_lengths or [sizes.keys] * sizes.batch)[:, None, None, None]
    rows = torch.tensor(seen.query_lengths or [sizes.queries] * sizes.batch)[:, None, None, None]
    query = torch.arange(sizes.queries)[None, None, :, None]
    key = torch.arange(sizes.keys)[None, None, None, :]
    distance = (lengths - rows).clamp(min=0) + query - key
    shown = (key < lengths) & (query < rows)
    if seen.causal:
        shown = shown & (distance >= 0)
    if seen.window:
        shown = shown & (distance.abs() < seen.window)
    return shown if seen.keys is None else shown & seen.keys


class Told(NamedTuple):
    """What a mask was made of."""

    pattern: Pattern
    padding: Optional[Tensor]  # (batch, keys) of bool: true where there is a token
    sizes: Sizes


class NumberedMask(Tensor):
    """A boolean mask of which only the numbers exist, until somebody computes with it."""

    seen: Optional[Seen]  # None if it has no such numbers, and once it was written to
    told: Optional[Told]  # None once it was written to
    _make: Callable[[], Tensor]
    _whole: Optional[Tensor]

    @staticmethod
    def __new__(
        cls,
        seen: Optional[Seen],
        sizes: Sizes,
        make: Callable[[], Tensor],
        told: Optional[Told] = None,
    ) -> "NumberedMask":
        shape = (sizes.batch, 1, sizes.queries, sizes.keys)
        made: Any = Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool)
        made.seen, made.told, made._make, made._whole = seen, told, make, None
        return made  # type: ignore[no-any-return, unused-ignore]

    def __init__(self, *_: Any) -> None:
        super().__init__()

    def whole(self) -> Tensor:
        """The mask itself."""
        if self._whole is None:
            self._whole = self._make()
        return self._whole

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.whole().clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.whole().__reduce_ex__(protocol)  # type: ignore[no-untyped-call, unused-ignore]

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment, unused-ignore]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override, unused-ignore]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        def plain(x: Any) -> Any:
            if not isinstance(x, NumberedMask):
                return x
            if func._schema.is_mutable:
                x.seen = x.told = None
            return x.whole()

        return func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))


def plain_mask(mask: Optional[Tensor]) -> Optional[Tensor]:
    """The mask itself, of whatever kind."""
    return mask.whole() if isinstance(mask, NumberedMask) else mask
