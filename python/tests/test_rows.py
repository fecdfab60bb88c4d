"""Which rows of a call are tokens, by masks and positions."""

import pytest

torch = pytest.importorskip("torch")

from headroom.torch._handed import handed  # noqa: E402
from headroom.torch._rows import Past, Rows, Rule, Shape, expected, padding_in, rows_of  # noqa: E402
from headroom.torch._seen import NumberedMask, Pattern, Sizes, Told, seen_of, whole_mask  # noqa: E402

pytestmark = pytest.mark.torch

CAUSAL = Rule(Pattern(True), turns=True, by_place=False)


def numbered(pattern, padding, sizes):
    """As the mask function makes it."""
    made = None if padding is None else torch.tensor(padding, dtype=torch.bool)
    seen = seen_of(pattern, made, sizes)
    return NumberedMask(seen, sizes, lambda: whole_mask(seen, sizes), Told(pattern, made, sizes))


def told(padding, past=0, rule=CAUSAL, positions=None, pattern=None, before=None, first=0):
    batch, keys = len(padding), len(padding[0])
    tokens = keys + first - past
    sizes = Sizes(batch, tokens, keys, past, first)
    mask = numbered(pattern or rule.pattern, padding, sizes)
    kept = Past(past, None if before is None else torch.tensor(before, dtype=torch.bool))
    return rows_of(mask, positions, rule, kept, Shape(batch, tokens))


def test_nothing_is_padding():
    assert rows_of(None, None, CAUSAL, Past(), Shape(2, 5)) == Rows()
    assert told([[1, 1, 1], [1, 1, 1]]) == Rows()


def test_padding_on_either_side():
    found = told([[1, 1, 1], [0, 1, 1], [1, 0, 0]])
    assert found.lengths == [3, 2, 1]
    assert found.there.tolist() == [[True] * 3, [False, True, True], [True, False, False]]
    assert found.after.tolist() == found.there.tolist()


def test_steps_know_what_was_padding():
    before = [[1, 1, 1], [0, 1, 1]]
    found = told([[1, 1, 1, 1], [0, 1, 1, 1]], past=3, before=before)
    assert found.lengths is None and found.after.tolist()[1] == [False, True, True, True]
    assert "hides other" in told([[1, 1, 1, 1], [1, 1, 1, 1]], past=3, before=before)
    assert "hides other" in told([[1, 1, 1, 1], [0, 1, 1, 1]], past=3)
    mask_of_window = told([[1, 1], [1, 1]], past=3, before=before, first=2)
    assert mask_of_window.lengths is None and mask_of_window.after.shape == (2, 4)


def test_no_mask_after_padding():
    before = Past(3, torch.tensor([[True, True, True], [False, True, True]]))
    assert "no mask" in rows_of(None, None, CAUSAL, before, Shape(2, 1))
    narrow = Rule(Pattern(True, 3), True, False)
    assert rows_of(None, None, narrow, before, Shape(2, 1)).after.shape == (2, 4)


def test_gaps_in_a_sequence():
    gap = [[1, 0, 1], [1, 1, 1]]
    assert told(gap) == "padding stands between tokens"
    given = torch.tensor([[0, 0, 1], [0, 1, 2]])
    assert told(gap, positions=given).lengths == [2, 3]
    still = Rule(Pattern(True), False, False)
    assert told(gap, rule=still).lengths == [2, 3]
    narrow = Rule(Pattern(True, 2), False, False)
    assert told(gap, rule=narrow) == "padding stands between tokens"


def test_positions():
    whole = [[1, 1, 1], [1, 1, 1]]
    for given, offsets in (([[0, 1, 2]], [0, 0]), ([[5, 6, 7], [0, 1, 2]], [5, 0])):
        assert told(whole, positions=torch.tensor(given)).offsets == offsets
    for given in ([[0, 2, 3]], [[0, 1, 2], [0, 1, 1]]):
        assert "do not follow" in told(whole, positions=torch.tensor(given))
    kept = Past(3, None, [0, 0])
    assert rows_of(None, torch.tensor([[3]]), CAUSAL, kept, Shape(2, 1)).offsets == [0, 0]
    assert "earlier calls" in rows_of(None, torch.tensor([[4]]), CAUSAL, kept, Shape(2, 1))


def test_places_before_a_sequence():
    by_place = Rule(Pattern(True), False, True)
    whole = [[1, 1, 1], [1, 1, 1]]
    assert told(whole, rule=by_place).before is None
    # What it counts are places, whatever positions say.
    assert told(whole, rule=by_place, positions=torch.tensor([[4, 6, 7]])) == Rows()
    padded = told([[0, 0, 1], [1, 1, 0], [0, 0, 0]], rule=by_place)
    assert padded.before[:2] == [2, 0] and padded.lengths == [1, 2, 0]
    before = [[0, 0, 0], [0, 1, 1]]
    later = told([[0, 0, 0, 0, 1], [0, 1, 1, 1, 1]], past=3, before=before, rule=by_place)
    assert later.before == [4, 1]
    assert told([[1, 0, 1], [1, 1, 1]], rule=by_place) == "padding stands between tokens"
    assert told(before, rule=CAUSAL).before is None


def test_another_rule_than_the_layers():
    whole = [[1, 1, 1, 1]]
    assert "another order" in told(whole, pattern=Pattern(False))
    assert "another order" in told(whole, pattern=Pattern(True, 2))
    assert told(whole, pattern=Pattern(True, 4)) == Rows()  # reaches all there is
    assert "other tokens" in rows_of(
        numbered(Pattern(True), None, Sizes(1, 2, 4, 2, 0)), None, CAUSAL, Past(), Shape(1, 2)
    )


@pytest.mark.parametrize(
    "pattern",
    [Pattern(True), Pattern(True, 3), Pattern(False), Pattern(False, 2), Pattern(True, 0, 4)],
)
@pytest.mark.parametrize("past", [0, 2])
def test_masks_of_others(pattern, past):
    if past and not pattern.causal:
        pytest.skip("such a layer has no cache")
    rule = Rule(pattern, turns=True, by_place=False)
    tokens, keys = 5, past + 6  # one place is room
    query = past + torch.arange(tokens)[:, None]
    key = torch.arange(keys)[None]
    shown = (key < past + tokens).expand(tokens, keys)
    if pattern.causal:
        shown = shown & (key <= query)
    if pattern.window:
        shown = shown & ((query - key).abs() < pattern.window)
    if pattern.chunk:
        shown = shown & (query // 4 == key // 4)
    there = torch.ones(2, keys, dtype=torch.bool)
    # Padding before a sequence sees nothing where there is an order, and everything elsewhere.
    there[1, : past + 1] = pattern.window > 0 or pattern.chunk > 0 or not pattern.causal
    there[:, past + tokens :] = False
    mask = (shown & there[:, None])[:, None]
    added = torch.where(mask, 0.0, torch.finfo(torch.float32).min)
    for one in (mask, added):
        found = padding_in(one, rule, past, Shape(2, tokens))
        assert found.tolist() == there.tolist()
    wrong = mask.clone()
    wrong[0, 0, 3, past + 2] = False
    assert "other keys" in padding_in(wrong, rule, past, Shape(2, tokens))
    assert "other numbers" in padding_in(added + mask, rule, past, Shape(2, tokens))
    heads = mask.expand(2, 3, tokens, keys).clone()
    heads[0, 1, 4, past + 4] ^= True
    assert "heads have masks" in padding_in(heads, rule, past, Shape(2, tokens))
    if pattern == Pattern(False):  # one row for all
        assert padding_in(mask[:, :, :1], rule, past, Shape(2, tokens)).tolist() == there.tolist()
    assert "another shape" in padding_in(mask[:, :, 1:], rule, past, Shape(2, tokens))


@pytest.mark.parametrize("pattern", [Pattern(True), Pattern(True, 4), Pattern(False)])
def test_a_row_that_sees_a_key_is_no_padding(pattern):
    def ask(mask, bias="none"):
        rule = Rule(pattern, turns=True, by_place=False, bias=bias)
        return padding_in(mask[None, None], rule, 0, Shape(1, 6))

    blocks = torch.tensor([[1, 1, 0, 0, 0, 0]] * 2 + [[0, 0, 1, 1, 1, 1]] * 4, dtype=torch.bool)
    order = expected(pattern, 0, (6, 6))
    for bias in ("none", "places", "tokens"):
        assert "other keys" in ask(blocks & order, bias)
    padded = (torch.arange(6) < 4) & order
    assert "other keys" in ask(padded)  # the last two rows see, and nobody sees them
    assert ask(padded, "tokens").tolist() == [[True] * 4 + [False] * 2]
    padded[4:] = False
    # What the last row sees is not said, where it sees nothing.
    assert "other keys" in ask(padded)
    if pattern.causal:
        left = (torch.arange(6) > 1) & order
        assert ask(left).tolist() == [[False] * 2 + [True] * 4]


def test_what_is_handed_over_and_what_is_not():
    past, shape = Past(2, torch.tensor([[False, True], [True, True]]), [0, 0]), Shape(2, 2)
    seen = torch.zeros(2, 1, 2, 6, dtype=torch.bool)  # two more places, not used yet
    seen[:, :, :, 1] = seen[:, :, 1, 3] = True
    where = torch.tensor([[7, 1]])

    def ask(mask=seen, positions=where, rule=CAUSAL, past=past):
        return handed("no numbers", mask, positions, rule, past, shape)

    rows = ask()
    assert rows.mask.int().tolist() == [
        [[[1, 0, 0, 0], [1, 0, 1, 0]]],
        [[[0, 1, 0, 0], [0, 1, 0, 1]]],
    ]
    assert rows.positions.tolist() == [[7, 1], [7, 1]] and rows.offsets == [0, 0]
    assert rows.after.int().tolist() == [[0, 1, 1, 1], [1, 1, 1, 1]]
    later, hid, ahead = seen.clone(), seen.clone(), seen.clone()
    later[0, 0, 0, 5], hid[0, 0, 0, 0], ahead[1, 0, 0, 3] = True, True, True
    tokens = CAUSAL._replace(bias="tokens")
    assert "come after those of the call" in ask(later)
    assert "earlier tokens that it hid" in ask(hid)
    assert "own order or window" in ask(ahead)
    assert "another shape or dtype" in ask(seen[:, :, :, :3])
    assert "another shape or dtype" in ask(seen.int())
    assert "a NaN" in ask(torch.full((1, 1, 2, 4), float("nan")))
    assert "before those of earlier calls" in ask(past=past._replace(offsets=[2, 0]))
    assert "more than one number" in ask(positions=where[None])
    assert ask(None) == ask(rule=tokens) == "no numbers"
    assert ask(rule=CAUSAL._replace(pattern=Pattern(False))) == "no numbers"
