"""Which rows of a call of a whole layer are tokens, by the mask that its model made.

Nothing here needs ``transformers`` or the extension module.
"""

from typing import List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from ._seen import NumberedMask, Pattern


class Rule(NamedTuple):
    """Which keys a layer's queries see, and whether it matters where they stand."""

    pattern: Pattern
    turns: bool  # by their distance
    by_place: bool  # by their place itself, which counts padding and no positions
    bias: str = "none"  # what distances are counted in, that add to scores: "tokens" or "places"


class Past(NamedTuple):
    """What earlier calls left in a layer's cache."""

    places: int = 0  # of every sequence, padding included
    there: Optional[Tensor] = None  # (batch, places) of bool; None: no padding
    offsets: Optional[List[int]] = None  # of positions from the number of tokens; None: not known


class Rows(NamedTuple):
    """The rows of ``(batch, tokens)`` that are tokens."""

    lengths: Optional[List[int]] = None  # of each sequence; None: all are
    there: Optional[Tensor] = None  # (batch, tokens) of bool
    offsets: Optional[List[int]] = None  # as in Past
    after: Optional[Tensor] = None  # ``Past.there`` after the call
    before: Optional[List[int]] = None  # padding before each sequence, where places matter
    mask: Optional[Tensor] = None  # (batch, heads or 1, tokens, keys that are kept), as a layer's
    positions: Optional[Tensor] = None  # (batch, tokens), where the layer is told what turns it

    def counts(self, shape: "Shape") -> List[int]:
        """Tokens of each sequence."""
        return [shape.tokens] * shape.batch if self.lengths is None else self.lengths


class Shape(NamedTuple):
    """Of a call."""

    batch: int
    tokens: int


Reason = str


def _same(rule: Pattern, said: Pattern, keys: int) -> bool:
    """Whether both show the same of so many keys."""

    def plain(one: Pattern) -> Pattern:
        return Pattern(
            one.causal,
            one.window if one.window < keys else 0,
            one.chunk if one.chunk < keys else 0,
        )

    return plain(rule) == plain(said)


def expected(pattern: Pattern, past: int, sizes: Tuple[int, int]) -> Tensor:
    """``(queries, keys)``: what the rule shows by places, without padding."""
    query = past + torch.arange(sizes[0])[:, None]
    key = torch.arange(sizes[1])[None, :]
    shown = key < past + sizes[0]
    if pattern.causal:
        shown = shown & (key <= query)
    if pattern.window:
        shown = shown & ((query - key).abs() < pattern.window)
    if pattern.chunk:
        shown = shown & (query // pattern.chunk == key // pattern.chunk)
    return shown


def shown_in(mask: Tensor) -> Union[Tensor, Reason]:
    """``(batch or 1, queries or 1, keys)`` of bool: what a mask shows, to all heads the same.

    Args:
        mask: ``(batch or 1, heads or 1, queries or 1, keys)``, true or 0 where a key is seen
    """
    if mask.dim() != 4:
        return "the mask is of another shape than the call"
    seen = mask
    if mask.dtype != torch.bool:
        seen = mask == 0
        hidden = torch.finfo(mask.dtype).min if mask.is_floating_point() else 0
        if not mask.is_floating_point() or bool((~seen & (mask > hidden / 2)).any()):
            return "the mask adds other numbers to scores than 0 and the lowest"
    if mask.shape[1] != 1 and not bool((seen == seen[:, :1]).all()):
        return "heads have masks of their own"
    return seen[:, 0]


def padding_in(mask: Tensor, rule: Rule, past: int, shape: Shape) -> Union[Tensor, Reason]:
    """``(batch, keys)``, true where there is a token, of a mask that somebody else made.

    A row that attends to a key is no padding, even if no other row attends to it.
    Only where distances are counted in tokens there was a mask of padding, which says which they
    are.

    Args:
        mask: ``(batch or 1, heads or 1, tokens or 1, keys)``, true or 0 where a key is seen
        rule: of the layer; a mask that shows other keys is refused
    """
    if mask.dim() == 4 and mask.shape[2] == 1:
        mask = mask.expand(-1, -1, shape.tokens, -1)
    if mask.dim() != 4 or mask.shape[2] != shape.tokens or mask.shape[3] < past + shape.tokens:
        return "the mask is of another shape than the call"
    shown = shown_in(mask)
    if isinstance(shown, str):
        return shown
    seen = shown.expand(shape.batch, -1, -1)
    ruled = expected(rule.pattern, past, (shape.tokens, mask.shape[3]))
    # The last query sees all that the order shows, and is a token or comes after all of them.
    last, known = seen[:, -1], ruled[-1]
    there = torch.where(known, last, (seen & ruled).any(1) | ~ruled.any(0))
    padding = ~there[:, past : past + shape.tokens]
    as_ruled = (seen == (ruled & there[:, None])).all(2)
    if rule.bias != "tokens":
        as_ruled = as_ruled & ~padding
    if not bool((as_ruled | (padding & ~seen.any(2))).all()):
        return "the mask shows other keys than the layer's own order, window and padding"
    there[:, past + shape.tokens :] = False
    return there


def _padding_of(
    mask: Optional[Tensor], rule: Rule, past: Past, shape: Shape
) -> Union[None, Tuple[Tensor, int], Reason]:
    """True where there is a token, and the place of its first column; None: no padding."""
    if mask is None:
        return None
    end = past.places + shape.tokens
    told = mask.told if isinstance(mask, NumberedMask) else None
    if told is None:
        whole = mask.whole() if isinstance(mask, NumberedMask) else mask
        found = padding_in(whole, rule, past.places, shape)
        return found if isinstance(found, str) else (found, 0)
    if told.sizes[:2] != shape or told.sizes.first_query != past.places:
        return "the mask is for other tokens than those of the call"
    if told.sizes.first_key + told.sizes.keys < end:
        return "the mask is for fewer keys than there are"
    if not _same(rule.pattern, told.pattern, end):
        return "the mask has another order or window than the layer"
    if told.padding is None:
        return None
    return told.padding, told.sizes.first_key


def _positions(
    given: Tensor, shape: Shape, past: List[int], there: Optional[Tensor]
) -> Union[List[int], Reason]:
    """How far the positions of each sequence are from the number of tokens before."""
    if given.dim() != 2 or given.shape[1] != shape.tokens:
        return "positions have more than one number for a token"
    if shape.tokens == 1:
        rows = given[:, 0].tolist()
        return [p - n for p, n in zip(rows * (shape.batch // len(rows)), past)]
    positions = given.expand(shape.batch, -1)
    if there is None:
        index = torch.arange(shape.tokens).expand(shape.batch, -1)
    else:
        index = there.cumsum(1) - 1
    far = positions - index - torch.tensor(past)[:, None]
    if there is None:
        first = far[:, :1]
        other = far != first
    else:
        first = far.gather(1, there.int().argmax(1, keepdim=True))
        other = (far != first) & there
    if bool(other.any()):
        return "positions do not follow each other"
    return first[:, 0].tolist()


def gaps(there: Tensor) -> bool:
    """Whether padding stands between tokens of a sequence."""
    begun = there.cummax(1).values if there.dtype != torch.bool else there.int().cummax(1).values
    ended = begun.bool() & ~there
    return bool((ended[:, :-1] & there[:, 1:]).any()) if there.shape[1] > 1 else False


def rows_of(
    mask: Optional[Tensor], positions: Optional[Tensor], rule: Rule, past: Past, shape: Shape
) -> Union[Rows, Reason]:
    """The rows that are tokens; or why a whole layer cannot compute this call."""
    if past.places and not rule.pattern.causal:
        return "a layer without an order has a cache"
    padding = _padding_of(mask, rule, past, shape)
    if isinstance(padding, str):
        return padding
    there = None
    if padding is not None:
        found = _with_past(padding, past, shape)
        if isinstance(found, str):
            return found
        there = found
    elif past.there is not None and not bool(_reached(past, rule.pattern).all()):
        return "there is no mask, but earlier tokens had padding"
    counts = [past.places] * shape.batch
    if past.there is not None:
        counts = past.there.sum(1).tolist()
    return _placed(there, positions, rule, past, shape, counts)


def _reached(past: Past, pattern: Pattern) -> Tensor:
    """Of ``Past.there``, what the next query may see."""
    assert past.there is not None
    first = 0
    if pattern.window:
        first = max(past.places + 1 - pattern.window, 0)
    if pattern.chunk:
        first = past.places // pattern.chunk * pattern.chunk
    return past.there[:, first:]


def _with_past(
    padding: Tuple[Tensor, int], past: Past, shape: Shape
) -> Union[None, Tensor, Reason]:
    """Of the new tokens; None: all are."""
    shown, first = padding
    end = past.places + shape.tokens - first
    if first > past.places or shown.shape[1] < end:
        return "the mask is for other keys than there are"
    old, new = shown[:, : past.places - first], shown[:, past.places - first : end]
    before = None if past.there is None else past.there[:, first:]
    if not bool((old if before is None else old == before).all()):
        return "the mask hides other earlier tokens than before"
    return None if bool(new.all()) else new


def _placed(
    there: Optional[Tensor],
    positions: Optional[Tensor],
    rule: Rule,
    past: Past,
    shape: Shape,
    counts: List[int],
) -> Union[Rows, Reason]:
    offsets = past.offsets
    if rule.turns and positions is not None:
        found = _positions(positions, shape, counts, there)
        if isinstance(found, str):
            return found
        if there is not None:  # a sequence without a token has no position
            known = offsets or [0] * shape.batch
            some = there.any(1).tolist()
            found = [f if one else k for f, k, one in zip(found, known, some)]
        if (
            past.places
            and offsets is not None
            and any(count and one != other for count, one, other in zip(counts, found, offsets))
        ):
            return "positions do not follow those of earlier calls"
        offsets = found
    by_place = rule.by_place or bool(rule.pattern.window) or bool(rule.pattern.chunk)
    whole = before = None
    if there is not None or past.there is not None:
        new = torch.ones(*shape, dtype=torch.bool) if there is None else there
        old = past.there
        if old is None:
            old = torch.ones(shape.batch, past.places, dtype=torch.bool)
        whole = torch.cat((old, new), 1)
        if (by_place or (rule.turns and positions is None)) and gaps(whole):
            return "padding stands between tokens"
        if rule.by_place:
            before = whole.int().argmax(1).tolist()
    lengths = None if there is None else there.sum(1).tolist()
    return Rows(lengths, there, offsets, whole, before)
