"""Masks that show other keys than a layer's order, window and padding, handed to whole layers."""

import functools
import warnings

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import families  # noqa: E402
from headroom.torch import FallbackWarning, accelerate, fallbacks  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("no_fallbacks_yet")]

DECODERS = ["qwen3", "gemma2", "gpt_oss", "llama4", "deepseek_v3", "falcon", "mpt"]
NAMES = [*DECODERS, "t5", "bert"]
TOKENS = 13
LOWEST = -1e30  # in float64 the lowest number leaves no room for scores


@functools.cache
def models_of(name):
    return families.Models({**families.FAMILIES, **families.ALONE}[name], whole=True)


def own_order(models):
    """What all layers of a model show by themselves."""
    back = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)[None, :]
    shown = back >= 0 if models.decoder else torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    window = getattr(models.config, "sliding_window", None)
    chunk = getattr(models.config, "attention_chunk_size", None)
    if window:
        shown = shown & (back.abs() < window)
    if chunk:
        block = torch.arange(TOKENS) // chunk
        shown = shown & (block[:, None] == block[None, :])
    return shown


def mask_of(models, kind, left):
    """Which keys each row sees, and what is added to the scores of those."""
    draw = torch.Generator().manual_seed(7)
    heads = models.config.num_attention_heads if "heads" in kind else 1
    batch = 1 if "all" in kind else families.BATCH
    seen = torch.rand(batch, heads, TOKENS, TOKENS, generator=draw) < 0.7
    if left:
        seen[-1, :, :, :left] = False
    seen = (seen | torch.eye(TOKENS, dtype=torch.bool)) & own_order(models)
    added = torch.randn(seen.shape, generator=draw, dtype=torch.float64)
    return seen, added.float().double() if "added" in kind else torch.zeros_like(added)


def exact_of(seen, added):
    return torch.where(seen, added, LOWEST)


def logits_of(model, **given):
    """Of T5, what its encoder gives."""
    whole = model.get_encoder() if model.config.is_encoder_decoder else model
    return whole(**given)[0]


def takes(models, kind):
    """MPT hides what a mask is not 0 for, and adds nothing."""
    if models.config.model_type == "mpt" and "added" in kind:
        pytest.skip("the model adds no mask")


def ours_of(models, seen, added, kind):
    if models.config.model_type == "mpt":
        return ~seen
    if "added" in kind:
        return torch.where(seen, added.float(), torch.finfo(torch.float32).min)
    return seen


KINDS = ["bool", "bool all", "added", "added heads", "bool heads"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1024, 8])
@pytest.mark.parametrize("name", NAMES)
def test_a_prompt(name, kind, rows):
    models = models_of(name)
    takes(models, kind)
    tokens = models.tokens(TOKENS)
    seen, added = mask_of(models, kind, left=3)
    with torch.inference_mode(), accelerate(models.ours, rows=rows):
        want = logits_of(models.exact, input_ids=tokens, attention_mask=exact_of(seen, added))
        ours = ours_of(models, seen, added, kind)
        got = logits_of(models.ours, input_ids=tokens, attention_mask=ours)
    assert not fallbacks()
    assert families.nrmse(got, want) <= families.LIMIT


def in_parts(model, tokens, mask, ends):
    cache = transformers.DynamicCache(config=model.config)
    logits, begin = [], 0
    for end in ends:
        now = mask[:, :, begin:end, :end]
        given = {"attention_mask": now, "cache": cache, "use_cache": True}
        logits.append(model(input_ids=tokens[:, begin:end], **given).logits)
        begin = end
    return torch.cat(logits, 1)


@pytest.mark.parametrize("kind", ["bool", "added heads"])
@pytest.mark.parametrize("rows", [1024, 5])
@pytest.mark.parametrize("name", DECODERS)
def test_after_a_cache(name, kind, rows):
    models = models_of(name)
    takes(models, kind)
    tokens = models.tokens(TOKENS)
    seen, added = mask_of(models, kind, left=2)
    with torch.inference_mode(), accelerate(models.ours, rows=rows):
        want = models.exact(input_ids=tokens, attention_mask=exact_of(seen, added)).logits
        ours = ours_of(models, seen, added, kind)
        got = in_parts(models.ours, tokens, ours, (7, 12, 13))
    assert not fallbacks()
    assert families.nrmse(got, want) <= families.LIMIT


@pytest.mark.parametrize("name", ["qwen3", "llama4"])
def test_after_a_left_padded_prompt(name):
    """Whose padding no cache of ours has kept."""
    models = models_of(name)
    tokens, padding = models.padded("left", TOKENS)
    where = (padding.cumsum(1) - 1).clamp(min=0)
    chunk = getattr(models.config, "attention_chunk_size", TOKENS)
    block = where // chunk  # counted from the first token that is no padding
    first = min(chunk, 9)
    seen = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril() & padding.bool()[:, None, None, :]
    seen = seen & (block[:, None, :, None] == block[:, None, None, :])
    seen[:, :, 11:, 8] = False
    exact = exact_of(seen, torch.zeros(1, dtype=torch.float64))
    with torch.inference_mode(), accelerate(models.ours):
        want = models.exact(input_ids=tokens, attention_mask=exact, position_ids=where).logits
        cache = transformers.DynamicCache(config=models.config)
        for begin, end, mask in (
            (0, first, padding[:, :first]),
            (first, TOKENS, seen[:, :, first:]),
        ):
            now = {"attention_mask": mask, "position_ids": where[:, begin:end], "cache": cache}
            got = models.ours(input_ids=tokens[:, begin:end], **now).logits
    assert not fallbacks()
    assert families.nrmse(got, want[:, first:]) <= families.LIMIT


@pytest.mark.parametrize("name", ["mpt", "bloom"])
def test_gaps_of_padding_under_a_bias_by_distance(name):
    """MPT counts places, as our layer, and BLOOM tokens."""
    models = models_of(name)
    tokens = models.tokens(TOKENS)
    padding = torch.ones_like(tokens)
    padding[1, 5:8] = padding[2, 4] = 0
    given = {"input_ids": tokens, "attention_mask": padding}
    with torch.inference_mode(), families.exact_masks(), accelerate(models.ours):
        want = models.exact(**given).logits
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if name == "bloom" else "error", FallbackWarning)
            got = models.ours(**given).logits
    assert bool(fallbacks(reset=True)) == (name == "bloom")
    shown = padding.bool()
    assert families.nrmse(got[shown], want[shown]) <= families.LIMIT


@pytest.mark.parametrize("boolean", [True, False])
def test_a_row_that_sees_nothing_has_0(boolean):
    model = models_of("qwen3").ours
    layer = model.model.layers[1].self_attn
    seen = torch.ones(1, 1, TOKENS, TOKENS, dtype=torch.bool).tril()
    seen[..., 4, :] = seen[..., 7, 2] = False
    mask = seen if boolean else torch.where(seen, 0.0, torch.finfo(torch.float32).min)
    x = torch.randn(1, TOKENS, model.config.hidden_size, generator=torch.Generator().manual_seed(9))
    where = torch.arange(TOKENS)[None]
    turned = model.model.rotary_emb(x, where)
    with torch.inference_mode(), accelerate(model):
        got = layer(x, position_embeddings=turned, attention_mask=mask, position_ids=where)[0]
    assert not fallbacks()
    assert [bool(row.any()) for row in got[0]] == [i != 4 for i in range(TOKENS)]


def test_bfloat16():
    models = families.Models(families.FAMILIES["qwen3"], whole=True)
    seen, added = mask_of(models, "added", left=3)
    added = added.bfloat16().double()
    lowest = torch.finfo(torch.bfloat16).min
    given = torch.where(seen, added, lowest).bfloat16()
    tokens = models.tokens(TOKENS)
    with torch.inference_mode(), accelerate(models.ours.bfloat16()):
        want = models.exact(input_ids=tokens, attention_mask=exact_of(seen, added)).logits
        ours, eager = (
            families.nrmse(one(input_ids=tokens, attention_mask=given).logits, want)
            for one in (models.ours, models.eager.bfloat16())
        )
    assert not fallbacks()
    assert ours < 1.5 * eager


def test_a_mask_that_shows_more_is_left_to_the_model():
    models = models_of("qwen3")
    seen = torch.ones(1, 1, TOKENS, TOKENS, dtype=torch.bool).tril()
    seen[..., :5, :5] = True  # a prefix
    mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
    tokens = models.tokens(TOKENS)
    with torch.inference_mode():
        want = models.exact(
            input_ids=tokens, attention_mask=exact_of(seen, torch.zeros(1, dtype=torch.float64))
        ).logits
        with accelerate(models.ours), pytest.warns(FallbackWarning, match="own order or window"):
            got = models.ours(input_ids=tokens, attention_mask=mask).logits
            assert fallbacks(reset=True)
    assert families.nrmse(got, want) <= families.LIMIT
