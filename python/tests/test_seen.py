"""Masks as numbers: what they say is what the mask says. Needs PyTorch alone."""

import copy
import importlib.util
import itertools
import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


def load():
    """Of the source tree, without the package around it, which needs the extension module."""
    folder = pathlib.Path(__file__).parents[1] / "headroom" / "torch"
    spec = importlib.util.spec_from_file_location("seen_alone", folder / "_seen.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


seen = load()
Pattern, Sizes = seen.Pattern, seen.Sizes


def mask_of(pattern, padding, sizes):
    """By the definition: of places."""
    query = sizes.first_query + torch.arange(sizes.queries)[None, None, :, None]
    key = sizes.first_key + torch.arange(sizes.keys)[None, None, None, :]
    shown = torch.ones(sizes.batch, 1, sizes.queries, sizes.keys, dtype=torch.bool)
    if pattern.causal:
        shown &= key <= query
    if pattern.window:
        shown &= (query - key).abs() < pattern.window
    return shown if padding is None else shown & padding[:, None, None, :]


def paddings(batch, used, keys):
    """By name; keys from ``used`` on are room that nobody has filled."""
    whole = torch.zeros(batch, keys, dtype=torch.bool)
    whole[:, :used] = True
    left, right, hole = whole.clone(), whole.clone(), whole.clone()
    left[1, : used // 2], right[1, used - used // 3 :], hole[1, used // 2] = False, False, False
    return {"none": None, "whole": whole, "left": left, "right": right, "hole": hole}


SIZES = [
    Sizes(2, 9, 9),
    Sizes(2, 1, 9, 8),
    Sizes(2, 4, 9, 5),
    Sizes(2, 4, 16, 5),  # a static cache
    Sizes(2, 9, 16),
    Sizes(2, 1, 16, 3),
    Sizes(2, 1, 4, 20, 17),  # a cache of the window's keys
    Sizes(2, 3, 6, 20, 17),
]
PATTERNS = [Pattern(True), Pattern(True, 3), Pattern(True, 99), Pattern(False), Pattern(False, 3)]


@pytest.mark.parametrize("sizes, pattern", list(itertools.product(SIZES, PATTERNS)))
def test_the_numbers_say_what_the_mask_says(sizes, pattern):
    end = sizes.first_query + sizes.queries - sizes.first_key
    placed = end == sizes.keys or pattern.causal or not pattern.window
    for name, padding in paddings(2, end if pattern.causal else sizes.keys, sizes.keys).items():
        numbers = seen.seen_of(pattern, padding, sizes)
        assert (numbers is not None) == placed, name
        if numbers is None:
            continue
        # Rows of padding are nobody's answer.
        rows = torch.ones(2, sizes.queries, dtype=torch.bool)
        if padding is not None and pattern.causal:
            rows = padding[:, end - sizes.queries : end]
        want = mask_of(pattern, padding, sizes)[:, 0][rows]
        assert torch.equal(seen.whole_mask(numbers, sizes)[:, 0][rows], want), name
        if name in ("none", "whole", "right") and not (pattern.window and not pattern.causal):
            assert numbers.keys is None, name


def test_padding_at_the_end_is_a_length():
    padding = paddings(2, 9, 9)["right"]
    numbers = seen.seen_of(Pattern(True, 4), padding, Sizes(2, 9, 9))
    assert numbers == seen.Seen(True, 4, [9, 6], [9, 6])
    numbers = seen.seen_of(Pattern(True), padding, Sizes(2, 1, 9, 8))
    assert numbers == seen.Seen(False, 0, [1, 0], [9, 6])
    assert seen.seen_of(Pattern(False), padding, Sizes(2, 4, 9)).key_lengths == [9, 6]
    nobody = torch.zeros(2, 9, dtype=torch.bool)
    assert seen.seen_of(Pattern(False), nobody, Sizes(2, 4, 9)).query_lengths == [0, 0]


def test_an_order_without_a_place_for_each_query_is_no_number():
    assert seen.seen_of(Pattern(True), None, Sizes(1, 5, 4)) is None
    assert seen.seen_of(Pattern(False, 3), None, Sizes(1, 4, 9)) is None


def test_one_chunk_is_an_order():
    order, chunk = Pattern(True), Pattern(True, 0, 9)
    for sizes in (Sizes(2, 9, 9), Sizes(2, 2, 16, 7)):
        assert seen.seen_of(chunk, None, sizes) == seen.seen_of(order, None, sizes)
    for sizes in (Sizes(2, 10, 10), Sizes(2, 1, 10, 9)):
        assert seen.seen_of(chunk, None, sizes) is None


def numbered(pattern=PATTERNS[1]):
    sizes = Sizes(2, 4, 4)
    numbers = seen.seen_of(pattern, None, sizes)
    return seen.NumberedMask(numbers, sizes, lambda: seen.whole_mask(numbers, sizes))


def test_whoever_computes_with_it_sees_the_mask():
    want = mask_of(PATTERNS[1], None, Sizes(2, 4, 4))
    mask = numbered()
    assert mask.shape == want.shape and mask.dtype == torch.bool and mask._whole is None
    for compute in (
        lambda m: m[:, :, 1:3, :2],
        lambda m: torch.where(m, 0.0, float("-inf")),
        lambda m: m & ~m.transpose(2, 3),
        lambda m: m.clone(),
        copy.deepcopy,
    ):
        got = compute(numbered())
        assert type(got) is torch.Tensor and torch.equal(got, compute(want))
    with torch.inference_mode():
        assert torch.equal(numbered() | False, want)


def test_a_mask_that_was_written_to_has_no_numbers():
    mask = numbered()
    mask.logical_not_()
    assert mask.seen is None
    assert torch.equal(seen.plain_mask(mask), ~mask_of(PATTERNS[1], None, Sizes(2, 4, 4)))


def test_functions_of_others_are_not_known():
    def causal_mask_function(batch, head, query, key):
        return key < query

    assert seen.pattern_of(causal_mask_function) is None
    assert seen.pattern_of(lambda *_: True) is None


def test_functions_of_transformers():
    masks = pytest.importorskip("transformers").masking_utils
    causal, window = masks.causal_mask_function, masks.sliding_window_causal_mask_function(5)
    both = masks.sliding_window_bidirectional_mask_function(5)
    chunk = masks.chunked_causal_mask_function(5, torch.zeros(1, dtype=torch.long))
    assert seen.pattern_of(causal) == Pattern(True)
    assert seen.pattern_of(window) == Pattern(True, 5)
    assert seen.pattern_of(masks.bidirectional_mask_function) == Pattern(False)
    assert seen.pattern_of(both) == Pattern(False, 6)
    assert seen.pattern_of(chunk) == Pattern(True, 0, 5)
    for other in (
        masks.padding_mask_function(torch.ones(1, 5)),
        masks.and_masks(window, causal),
        masks.or_masks(causal, window),
    ):
        assert seen.pattern_of(other) is None
