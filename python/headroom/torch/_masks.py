"""What masks say, read from their values."""

import weakref
from typing import Dict, NamedTuple, Optional, Tuple

import torch
from torch import Tensor


class Masks(NamedTuple):
    """What a call says of who sees whom, as ``nn.MultiheadAttention`` takes it."""

    padding: Optional[Tensor] = None  # (batch, keys)
    attention: Optional[Tensor] = None
    causal: bool = False  # the attention mask is known to be causal


class Padding(NamedTuple):
    """Keys that nobody may see."""

    ignored: Tensor  # (batch, keys) of bool
    counts: "list[int]"  # keys that are left of each sequence
    trailing: bool  # what is ignored comes after all that is left


def as_bool(mask: Tensor) -> Optional[Tensor]:
    """True where a key is hidden; None if the mask adds anything else than 0 and -inf."""
    if mask.dtype == torch.bool:
        return mask
    hidden = mask == float("-inf")
    if bool(((mask == 0) | hidden).all()):
        return hidden
    return None


def read_padding(mask: Tensor) -> Optional[Padding]:
    """None if the mask weighs keys instead of hiding them."""
    ignored = as_bool(mask)
    if ignored is None:
        return None
    counts = (~ignored).sum(dim=1).tolist()
    trailing = not bool((ignored[:, :-1] & ~ignored[:, 1:]).any())
    return Padding(ignored, counts, trailing)


def joined(masks: Masks, batch: int) -> Tensor:
    """Both as a layer takes them, ``(batch, heads, tokens, keys)`` or 1 in any direction: true
    where a key is seen, or what is added to scores."""
    parts = []
    if masks.attention is not None:
        mask = masks.attention
        parts.append(
            mask[None, None] if mask.dim() == 2 else mask.reshape(batch, -1, *mask.shape[1:])
        )
    if masks.padding is not None:
        parts.append(masks.padding[:, None, None, :])
    if all(part.dtype == torch.bool for part in parts):
        return ~(parts[0] if len(parts) == 1 else parts[0] | parts[1])
    added = [
        torch.zeros(part.shape).masked_fill(part, float("-inf"))
        if part.dtype == torch.bool
        else part.float()
        for part in parts
    ]
    return added[0] if len(added) == 1 else added[0] + added[1]


def shows_each_row_a_key(mask: Tensor) -> bool:
    """Of ``joined``; what PyTorch computes of other rows, and of NaN, is NaN."""
    if mask.dtype == torch.bool:
        return bool(mask.any(-1).all())
    return bool((mask.amax(-1) > float("-inf")).all())


def _kind_of(mask: Tensor) -> str:
    if mask.dim() != 2:
        return "other"
    hidden = as_bool(mask)
    if hidden is None:
        return "other"
    if not bool(hidden.any()):
        return "none"
    causal = torch.ones_like(hidden).triu(1)
    return "causal" if bool((hidden == causal).all()) else "other"


_known: Dict[int, Tuple["weakref.ref[Tensor]", int, str]] = {}


def kind_of(mask: Tensor) -> str:
    """``causal``, ``none`` or ``other``. A mask that comes again unchanged is not read again."""
    if mask.is_inference():  # no counter says whether it was changed
        return _kind_of(mask)
    key = id(mask)
    known = _known.get(key)
    if known is not None and known[0]() is mask and known[1] == mask._version:
        return known[2]
    kind = _kind_of(mask)
    reference = weakref.ref(mask, lambda _: _known.pop(key, None))
    _known[key] = (reference, mask._version, kind)
    return kind
