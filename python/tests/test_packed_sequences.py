"""Several sequences in one row of a batch: whole layers against the model's own, in float64."""

import functools

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import families  # noqa: E402
from headroom.torch import FallbackWarning, accelerate, fallbacks  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("no_fallbacks_yet"),
    pytest.mark.filterwarnings("ignore::headroom.torch.FallbackWarning"),
]

ALL = {**families.FAMILIES, **families.ALONE}
# Whose embeddings are pictures or sound, or whose two stacks are called with other arguments.
TEXTS = [name for name in ALL if name not in ("vit", "whisper", "t5")]
LENGTHS = (5, 7, 4)
TOKENS = sum(LENGTHS)
LOWEST = -1e30  # in float64 the lowest number leaves no room for scores
# Their biases count tokens, of a mask that has two dimensions.
NO_MASK = ("bloom", "falcon_rw")
# A packed sequence has other chunks than its row; biases count the tokens of a mask of padding.
LEFT_TO_THE_MODEL = {"llama4": (False,), "falcon_rw": (False, True)}


@functools.cache
def models_of(name):
    return families.Models(ALL[name], whole=True)


def starts_again():
    return torch.cat([torch.arange(length) for length in LENGTHS])[None]


def blocks():
    which = torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS))
    return which[:, None] == which[None]


def seen_by(models):
    """``(1, 1, tokens, tokens)``: blocks, in the model's own order."""
    seen = blocks()
    if models.decoder:
        seen = seen.tril()
    window = getattr(models.config, "sliding_window", None)
    if window:
        back = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)[None]
        seen = seen & (back.abs() < window)
    return seen[None, None]


def takes_positions(models):
    return models.config.model_type not in ("bloom", "mpt")


def logits(model, **given):
    return model(**given).logits


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("name", [one for one in TEXTS if ALL[one].auto == "AutoModelForCausalLM"])
def test_positions_that_start_again(name, use_cache):
    """transformers makes a mask of blocks of them, if there is no cache."""
    models = models_of(name)
    if not takes_positions(models):
        pytest.skip("the model takes no positions")
    given = {"input_ids": models.tokens(TOKENS), "position_ids": starts_again()}
    given["use_cache"] = use_cache
    with torch.inference_mode(), families.exact_masks(), accelerate(models.ours):
        want = logits(models.exact, **given)
        got = logits(models.ours, **given)
    assert families.nrmse(got, want) <= families.LIMIT
    assert bool(fallbacks(reset=True)) == (use_cache in LEFT_TO_THE_MODEL.get(name, ()))


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("boolean", [False, True])
@pytest.mark.parametrize("name", [one for one in TEXTS if one not in NO_MASK])
def test_a_mask_of_blocks(name, boolean, positions):
    models = models_of(name)
    tokens, seen = models.tokens(TOKENS), seen_by(models)
    more = {"position_ids": starts_again()} if positions and takes_positions(models) else {}
    exact = torch.where(seen, 0.0, torch.tensor(LOWEST, dtype=torch.float64))
    ours = seen if boolean else torch.where(seen, 0.0, torch.finfo(torch.float32).min)
    if name == "mpt":
        ours = ~seen
    with torch.inference_mode(), accelerate(models.ours):
        want = logits(models.exact, input_ids=tokens, attention_mask=exact, **more)
        got = logits(models.ours, input_ids=tokens, attention_mask=ours, **more)
    assert families.nrmse(got, want) <= families.LIMIT
    assert bool(fallbacks(reset=True)) == (name in LEFT_TO_THE_MODEL)


@pytest.mark.parametrize("hidden", [(6,), (TOKENS - 1,), (6, TOKENS - 1)])
@pytest.mark.parametrize("name", ["qwen3", "falcon", "mpt", "gpt_oss", "bert"])
def test_a_row_that_nobody_sees(name, hidden):
    """Not even itself; it is asked for all the same."""
    models = models_of(name)
    tokens = models.tokens(TOKENS)
    seen = torch.ones(1, 1, TOKENS, TOKENS, dtype=torch.bool)
    seen = seen.tril() if models.decoder else seen
    window = getattr(models.config, "sliding_window", None)
    seen = seen.triu(1 - window) if window else seen
    seen[..., hidden] = False
    exact = torch.where(seen, 0.0, torch.tensor(LOWEST, dtype=torch.float64))
    with torch.inference_mode(), accelerate(models.ours):
        want = logits(models.exact, input_ids=tokens, attention_mask=exact)
        given = ~seen if name == "mpt" else seen
        got = logits(models.ours, input_ids=tokens, attention_mask=given)
    assert not fallbacks(reset=True)
    assert families.nrmse(got, want) <= families.LIMIT


def test_positions_that_a_layer_is_not_told():
    """Llama 4 and ModernBERT hand their layers what the positions gave, and not these."""
    for name in ("llama4", "modernbert"):
        models = models_of(name)
        given = {"input_ids": models.tokens(TOKENS), "position_ids": starts_again() + 3}
        given["attention_mask"] = torch.ones_like(given["input_ids"])
        with torch.inference_mode(), families.exact_masks(), accelerate(models.ours) as made:
            want = logits(models.exact, **given)
            got = logits(models.ours, **given)
            assert families.nrmse(got, want) <= families.LIMIT
            assert not fallbacks(reset=True)
            layer = made._layers[0].place.module
            x = torch.randn(1, 5, models.config.hidden_size)
            turned = torch.ones(1, 5, models.config.hidden_size // 4)
            if name == "modernbert":
                with pytest.warns(FallbackWarning, match="nobody says which positions"):
                    layer(x, position_embeddings=(turned, turned))
        fallbacks(reset=True)
