"""Replaced layers over a second input: its keys and values are made once, and kept."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import tiny_models  # noqa: E402
from headroom.torch import (  # noqa: E402
    FallbackWarning,
    _cross_layer,
    accelerate,
    fallbacks,
)
from headroom.torch._cross_layer import tokens_of  # noqa: E402
from headroom.torch._rows import Shape  # noqa: E402
from headroom.torch._seen import NumberedMask, Pattern, Sizes, Told, seen_of, whole_mask  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("no_fallbacks_yet")]

ALL = Pattern(False)


@pytest.fixture
def model():
    torch.manual_seed(3)
    made = tiny_models.make(tiny_models.config_of("t5"), "eager")
    tiny_models.draw(made)
    return made


@pytest.fixture
def filled(monkeypatch):
    """Rows of the second input that became keys, layer by layer."""
    rows, real = [], _cross_layer.CrossLayer._fill

    def fill(layer, kept, memory, there, lengths):
        rows.append(sum(lengths))
        real(layer, kept, memory, there, lengths)

    monkeypatch.setattr(_cross_layer.CrossLayer, "_fill", fill)
    return rows


def tokens(batch=2, count=9, seed=4):
    return torch.randint(3, 60, (batch, count), generator=torch.Generator().manual_seed(seed))


def padded():
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[0, 6:] = 0
    mask[1, :3] = 0
    return mask


def close(got, want):
    return torch.allclose(got, want, rtol=1e-4, atol=1e-5)


def caches(model):
    return transformers.EncoderDecoderCache(
        transformers.DynamicCache(config=model.config),
        transformers.DynamicCache(config=model.config),
    )


def decode(model, encoded, cache, x, mask=None):
    given = {"encoder_outputs": (encoded,), "attention_mask": mask, "decoder_input_ids": x}
    return model(**given, cache=cache, use_cache=True).logits


def test_both_kinds_are_replaced(model):
    with accelerate(model) as made:
        names = [name for name in made.layers if name.endswith(".EncDecAttention")]
        assert names == [f"decoder.block.{i}.layer.1.EncDecAttention" for i in (0, 1)]
        assert len(made.layers) == 6
    assert all("forward" not in one.__dict__ for one in model.modules())


@pytest.mark.parametrize("padding", [False, True])
def test_keys_are_made_once(model, filled, padding):
    mask, x = padded() if padding else None, tokens(2, 7, seed=5)
    with torch.inference_mode():
        encoded = model.encoder(tokens(), attention_mask=mask).last_hidden_state
        want = decode(model, encoded, None, x, mask)
        with accelerate(model, rows=4):
            cache = caches(model)
            parts = (x[:, :5], x[:, 5:6], x[:, 6:])
            got = [decode(model, encoded, cache, one, mask) for one in parts]
            assert close(torch.cat(got, 1), want)
            assert filled == [12 if padding else 18] * 2
            kept = cache.cross_attention_cache.layers[0]._kept
            assert kept.capacity == (6 if padding else 9)  # no room for what never comes
            cache.reset()
            other = tokens(seed=6)
            encoded = model.encoder(other, attention_mask=mask).last_hidden_state
            again = decode(model, encoded, cache, x, mask)
            assert len(filled) == 4 and not close(again, want)
    assert not fallbacks()


def test_beams_have_their_own(model):
    given = {"max_new_tokens": 12, "num_beams": 3, "decoder_start_token_id": 0}
    given = {**given, "input_ids": tokens(), "attention_mask": padded()}
    want = model.generate(**given)
    with accelerate(model):
        assert torch.equal(model.generate(**given), want) and not fallbacks()


def test_a_cache_stays_with_its_second_input(model):
    x = tokens(2, 3)
    with torch.inference_mode(), accelerate(model):
        encoded, cache = model.encoder(tokens()).last_hidden_state, caches(model)
        decode(model, encoded, cache, x)
        with pytest.raises(ValueError, match="EncDecAttention began .* other tokens than before"):
            decode(model, encoded, copy.deepcopy(cache), x, padded())
        cache.batch_select_indices(torch.tensor([1]))
        assert decode(model, encoded[1:], cache, x[1:, :1]).shape[0] == 1


def test_it_does_not_go_on_without_us(model):
    x = tokens(2, 3)
    with accelerate(model):
        with torch.inference_mode():
            encoded, cache = model.encoder(tokens()).last_hidden_state, caches(model)
            decode(model, encoded, cache, x)
        layer = model.decoder.block[0].layer[1].EncDecAttention
        given = {"key_value_states": encoded.clone(), "cache": cache}
        with pytest.raises(ValueError, match="cannot go on: gradients may be asked for"):
            layer(torch.ones(2, 1, 32), **given)


def test_a_cache_that_the_model_began(model):
    x = tokens(2, 4)
    with torch.inference_mode():
        encoded = model.encoder(tokens()).last_hidden_state
        cache = caches(model)
        first = decode(model, encoded, cache, x[:, :3])
        want = decode(model, encoded, copy.deepcopy(cache), x[:, 3:])
        with accelerate(model), pytest.warns(FallbackWarning):
            assert close(decode(model, encoded, cache, x[:, 3:]), want)
    assert first.shape[1] == 3
    why = "the cache was begun by the model's own layer; the model's own layer takes the call"
    assert fallbacks() == {why: 4}  # of both kinds


def test_what_was_half_done_is_done_anew(model, monkeypatch):
    x = tokens(2, 3)

    def interrupted(lengths, sizes):
        yield next(real(lengths, sizes))
        raise KeyboardInterrupt

    real = _cross_layer.pieces
    with torch.inference_mode(), accelerate(model, rows=4):
        encoded, cache = model.encoder(tokens()).last_hidden_state, caches(model)
        want = decode(model, encoded, caches(model), x)
        monkeypatch.setattr(_cross_layer, "pieces", interrupted)
        with pytest.raises(KeyboardInterrupt):
            decode(model, encoded, cache, x)
        monkeypatch.setattr(_cross_layer, "pieces", real)
        cache.self_attention_cache.reset()
        assert close(decode(model, encoded, cache, x), want)


def test_what_the_model_takes(model):
    layer = model.decoder.block[0].layer[1].EncDecAttention
    x, memory = torch.randn(2, 3, 32), torch.randn(2, 5, 32)
    bias = torch.zeros(2, 1, 3, 5)
    bias[0, 0, 1, 2] = torch.finfo(torch.float32).min  # of one row
    cases = {
        "shows other tokens": {"key_value_states": memory, "mask": bias},
        "other numbers": {"key_value_states": memory, "mask": bias + 1},
        "takes a second input": {"key_value_states": None},
        "second input of torch.float32": {"key_value_states": memory.bfloat16()},
        "a kind that": {
            "key_value_states": memory,
            "cache": transformers.DynamicCache(config=model.config),
        },
    }
    with torch.inference_mode(), accelerate(model), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        for why, given in cases.items():
            fallbacks(reset=True)
            try:
                layer(x, **given)
            except RuntimeError:  # the model's own layer cannot either
                assert why == "second input of torch.float32"
            assert [why in one for one in fallbacks()] == [True], (why, fallbacks())


def numbered(padding, sizes, pattern=ALL):
    seen = seen_of(pattern, padding, sizes)
    return NumberedMask(seen, sizes, lambda: whole_mask(seen, sizes), Told(pattern, padding, sizes))


def test_masks_of_a_second_input():
    there = padded().bool()
    there[1, 5] = False  # between others, where it matters no more than elsewhere
    sizes, shape = Sizes(2, 3, 9), Shape(2, 3)
    whole = there[:, None, None]
    added = torch.where(whole, 0.0, torch.finfo(torch.float32).min)
    for mask in (numbered(there, sizes), whole, added, whole.expand(2, 4, 3, 9)):
        assert tokens_of(mask, shape, 9).tolist() == there.tolist()
    assert tokens_of(None, shape, 9) is None
    assert tokens_of(torch.ones(1, 1, 1, 9, dtype=torch.bool), shape, 9) is None
    assert tokens_of(numbered(None, sizes), shape, 9) is None
    assert "another order or shape" in tokens_of(numbered(there, sizes), shape, 8)
    assert "another order or shape" in tokens_of(
        numbered(None, Sizes(2, 9, 9), Pattern(True)), Shape(2, 9), 9
    )
    assert "another shape" in tokens_of(whole, shape, 8)
    assert "has no token" in tokens_of(torch.zeros(2, 1, 1, 9, dtype=torch.bool), shape, 9)
