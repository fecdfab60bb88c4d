"""Calls whose masks or positions are no numbers: all their rows are computed, by the mask itself.

Nothing here needs ``transformers`` or the extension module.
"""

from typing import Any, Dict, List, Optional, Tuple, Union

import torch
from torch import Tensor

from ._rows import Past, Reason, Rows, Rule, Shape, expected, gaps, rows_of
from ._seen import NumberedMask


def as_shown(mask: Optional[Tensor], kind: str, alibi: Optional[Tensor]) -> Optional[Tensor]:
    """A module's mask as that of most others.

    Args:
        kind: what it says, as in ``Place``
        alibi: of the call; without one the mask has no bias in it
    """
    if mask is None:
        return None
    if kind == "hidden":
        return ~mask.bool()
    if kind == "biased" and alibi is not None and mask.is_floating_point():
        return mask > torch.finfo(mask.dtype).min / 2  # the layer adds the bias itself
    return mask


def as_layers_take(mask: Tensor) -> Tensor:
    """True where a key is seen, or what is added to scores with -inf where nothing is.

    Models hide keys by the lowest number of their dtype, after which a row that sees nothing would
    see everything alike.
    """
    if mask.dtype == torch.bool:
        return mask
    hidden = mask <= torch.finfo(mask.dtype).min / 2
    if bool((hidden | (mask == 0)).all()):
        return ~hidden
    return mask.masked_fill(hidden, float("-inf"))


def seen_in(mask: Tensor) -> Tensor:
    """Of a mask that a layer takes: true where a key is seen."""
    return mask if mask.dtype == torch.bool else mask > float("-inf")


def hiding(mask: Tensor, *shape: int) -> Tensor:
    """A mask of that kind which hides everything."""
    nothing = False if mask.dtype == torch.bool else float("-inf")
    return mask.new_full(shape, nothing)


def _by_place(mask: Tensor, past: Past, shape: Shape) -> Union[Tensor, Reason]:
    """``(batch, heads or 1, tokens, places)``, of those until the call's last one."""
    told = mask.told if isinstance(mask, NumberedMask) else None
    first = 0 if told is None else told.sizes.first_key
    whole = mask.whole() if isinstance(mask, NumberedMask) else mask
    end = past.places + shape.tokens
    if (
        whole.dim() != 4
        or whole.shape[0] not in (1, shape.batch)
        or whole.shape[2] not in (1, shape.tokens)
        or first + whole.shape[3] < end
        or not (whole.dtype == torch.bool or whole.is_floating_point())
    ):
        return "the mask is of another shape or dtype than the call"
    made = as_layers_take(whole).expand(shape.batch, -1, shape.tokens, -1)
    if bool(seen_in(made[..., end - first :]).any()):
        return "the mask shows keys that come after those of the call"
    if bool(torch.isnan(made).any()):
        return "the mask has a NaN"
    made = made[..., : end - first]
    before = hiding(made, *made.shape[:3], first)
    return torch.cat((before, made), 3) if first else made


def _of_kept(mask: Tensor, past: Past, shape: Shape) -> Union[Tensor, Reason]:
    """A mask by places as one of the keys that a cache has kept, and the new ones."""
    if past.there is None:
        return mask
    old = seen_in(mask[..., : past.places])
    if bool((old & ~past.there[:, None, None]).any()):
        return "the mask shows earlier tokens that it hid before"
    counts = past.there.sum(1).tolist()
    made = hiding(mask, *mask.shape[:3], max(counts) + shape.tokens)
    for i, count in enumerate(counts):
        made[i, ..., :count] = mask[i, ..., : past.places][..., past.there[i]]
        made[i, ..., count : count + shape.tokens] = mask[i, ..., past.places :]
    return made


def _shows_more(mask: Tensor, rule: Rule, past: Past, shape: Shape) -> bool:
    """Whether a mask of kept keys shows some that the layer hides by itself."""
    counts = [past.places] * shape.batch
    if past.there is not None:
        counts = past.there.sum(1).tolist()
    seen = seen_in(mask)
    return any(
        bool((one & ~expected(rule.pattern, count, (shape.tokens, mask.shape[3]))).any())
        for one, count in zip(seen, counts)
    )


def _turned_by(
    positions: Optional[Tensor], rule: Rule, past: Past, shape: Shape
) -> Union[Tuple[Optional[Tensor], Optional[List[int]]], Reason]:
    """What turns each row, and ``Past.offsets`` after it: keys of earlier calls were turned by so
    much less than the model would, and so are those of this one."""
    if not rule.turns or rule.bias != "none":
        return None, past.offsets
    if positions is None:
        if past.there is not None and gaps(past.there):
            return "padding stands between tokens"
        return None, past.offsets
    if positions.dim() != 2 or positions.shape[1] != shape.tokens:
        return "positions have more than one number for a token"
    offsets = past.offsets or [0] * shape.batch
    turned = positions.expand(shape.batch, -1) - torch.tensor(offsets)[:, None]
    if bool((turned < 0).any()):
        return "positions come before those of earlier calls"
    return turned, offsets


def handed(
    why: Reason,
    mask: Optional[Tensor],
    positions: Optional[Tensor],
    rule: Rule,
    past: Past,
    shape: Shape,
) -> Union[Rows, Reason]:
    """All rows of a call, with the mask and the positions that say the rest.

    Args:
        why: they are no numbers

    Returns:
        ``why``, or another reason, if a layer cannot take them either.
    """
    gap = past.there is not None and gaps(past.there)
    if past.places and not rule.pattern.causal:
        return why
    # A layer counts places, of which a cache has kept no padding.
    if rule.bias == "tokens" or (gap and (rule.bias != "none" or rule.by_place)):
        return why
    made = None
    if mask is not None:
        by_place = _by_place(mask, past, shape)
        made_or_not = by_place if isinstance(by_place, str) else _of_kept(by_place, past, shape)
        if isinstance(made_or_not, str):
            return made_or_not
        made = made_or_not
        if _shows_more(made, rule, past, shape):
            return "the mask shows keys that the layer's own order or window hides"
    elif past.there is not None:
        return why
    turned = _turned_by(positions, rule, past, shape)
    if isinstance(turned, str):
        return turned
    after = before = None
    if past.there is not None:
        after = torch.cat((past.there, torch.ones(*shape, dtype=torch.bool)), 1)
        before = after.int().argmax(1).tolist() if rule.by_place else None
    return Rows(None, None, turned[1], after, before, made, turned[0])


def piece_of(mask: Tensor, done: List[int], counts: List[int], kept: List[int]) -> Tensor:
    """The mask of so many next rows of each sequence.

    Args:
        mask: of all rows of a call, as in ``Rows``
        done: rows of each sequence in earlier pieces
        counts: rows of each in this one
        kept: keys of each that come before them
    """
    rows, keys = max(counts), max(a + b for a, b in zip(kept, counts))
    if not any(done) and min(counts) == mask.shape[2] and keys == mask.shape[3]:
        return mask
    made = hiding(mask, len(counts), mask.shape[1], rows, keys)
    for i, (first, count, before) in enumerate(zip(done, counts, kept)):
        end = before + count
        made[i, :, :count, :end] = mask[i, :, first : first + count, :end]
    return made


class Memory:
    """The last answers: all layers of a model ask the same of one call."""

    def __init__(self) -> None:
        self._kept: Dict[Any, Any] = {}

    def rows_of(
        self,
        mask: Optional[Tensor],
        positions: Optional[Tensor],
        rule: Rule,
        past: Past,
        shape: Shape,
    ) -> Union[Rows, Reason]:
        """As the function of this name, or else as ``handed``."""
        key = (id(mask), id(positions), rule, past.places, id(past.there), shape)
        kept = self._kept.get(key)
        # What was asked about is kept with the answer, so that its number is nobody else's.
        if kept is not None and kept[1] == past.offsets and kept[2] == _changes(positions):
            return kept[0]  # type: ignore[no-any-return]
        found = rows_of(mask, positions, rule, past, shape)
        if isinstance(found, str):
            found = handed(found, mask, positions, rule, past, shape)
        if len(self._kept) > 8:
            self._kept.clear()
        asked = (found, past.offsets, _changes(positions), mask, positions, past.there)
        self._kept[key] = asked
        return found


def _changes(x: Optional[Tensor]) -> int:
    return 0 if x is None or x.is_inference() else x._version
