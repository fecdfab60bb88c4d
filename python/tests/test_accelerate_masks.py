"""Masks that show other keys than a layer's order, window and padding, handed to whole layers."""

import families
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from headroom.torch import accelerate, fallbacks  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("no_fallbacks_yet")]

NAMES = ["qwen3", "gemma2", "gpt_oss", "llama4", "deepseek_v3", "bert"]
TOKENS = 13
LOWEST = -1e30  # in float64 the lowest number leaves no room for scores


@pytest.fixture(scope="module", params=NAMES)
def models(request):
    return families.Models(families.FAMILIES[request.param], whole=True)


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


def ours_of(seen, added, kind):
    if "added" in kind:
        return torch.where(seen, added.float(), torch.finfo(torch.float32).min)
    return seen


KINDS = ["bool", "bool all", "added", "added heads", "bool heads"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1024, 16])
def test_a_prompt(models, kind, rows):
    tokens = models.tokens(TOKENS)
    seen, added = mask_of(models, kind, left=3)
    with torch.inference_mode(), accelerate(models.ours, rows=rows):
        want = models.exact(input_ids=tokens, attention_mask=exact_of(seen, added)).logits
        got = models.ours(input_ids=tokens, attention_mask=ours_of(seen, added, kind)).logits
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
@pytest.mark.parametrize("rows", [1024, 8])
def test_after_a_cache(models, kind, rows):
    config = models.config
    if not models.decoder or getattr(config, "sliding_window", None):
        pytest.skip("a cache of a window has fewer keys than the mask, in the model's own layer")
    tokens = models.tokens(TOKENS)
    seen, added = mask_of(models, kind, left=2)
    with torch.inference_mode(), accelerate(models.ours, rows=rows):
        want = models.exact(input_ids=tokens, attention_mask=exact_of(seen, added)).logits
        ours = ours_of(seen, added, kind)
        got = in_parts(models.ours, tokens, ours, (7, 12, 13))
    assert not fallbacks()
    assert families.nrmse(got, want) <= families.LIMIT


def test_after_a_left_padded_prompt(models):
    """Whose padding no cache of ours has kept."""
    if models.config.model_type != "qwen3":
        pytest.skip("one family says it")
    tokens, padding = models.padded("left", TOKENS)
    seen = (padding.bool()[:, None, None, :] & own_order(models)).clone()
    seen[:, :, 11:, 8] = False
    where = (padding.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode(), accelerate(models.ours):
        want = models.exact(
            input_ids=tokens, attention_mask=torch.where(seen, 0.0, LOWEST).double(),
            position_ids=where,
        ).logits  # fmt: skip
        cache = transformers.DynamicCache(config=models.config)
        for begin, end, mask in ((0, 9, padding[:, :9]), (9, TOKENS, seen[:, :, 9:])):
            got = models.ours(
                input_ids=tokens[:, begin:end], attention_mask=mask, cache=cache,
                position_ids=where[:, begin:end],
            ).logits  # fmt: skip
    assert not fallbacks()
    assert families.nrmse(got, want[:, 9:]) <= families.LIMIT
