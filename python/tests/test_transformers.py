"""Models of transformers with the attention of headroom."""

import copy
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from headroom.torch import FallbackWarning, fallbacks, register_transformers  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nothing_said")]


@pytest.fixture(scope="module")
def models():
    """One Llama with grouped heads, by sdpa and by the layer."""
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(3)
    config._attn_implementation = "sdpa"
    theirs = transformers.LlamaForCausalLM(config).eval()
    ours = transformers.LlamaForCausalLM(config).eval()
    ours.load_state_dict(theirs.state_dict())
    ours.set_attn_implementation(register_transformers())
    return theirs, ours


@torch.inference_mode()
def test_a_prompt(models):
    theirs, ours = models
    tokens = torch.randint(0, 50, (3, 17))
    assert (ours(tokens).logits - theirs(tokens).logits).abs().max() < 1e-5


@torch.inference_mode()
def test_token_after_token(models):
    theirs, ours = models
    tokens = torch.randint(0, 50, (1, 9))
    options = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(ours.generate(tokens, **options), theirs.generate(tokens, **options))


@torch.inference_mode()
@pytest.mark.parametrize("left", [False, True])
def test_padding(models, left):
    theirs, ours = models
    tokens, mask = torch.randint(0, 50, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    mask[1, slice(0, 4) if left else slice(5, 9)] = 0
    y = ours(tokens, attention_mask=mask).logits
    difference = (y - theirs(tokens, attention_mask=mask).logits).abs()
    assert difference[mask.bool()].max() < 1e-5


@torch.inference_mode()
def test_several_tokens_after_a_cache(models):
    theirs, ours = models
    tokens = torch.randint(0, 50, (2, 12))
    for many in (theirs, ours):
        first = many(tokens[:, :5], use_cache=True)
        second = many(tokens[:, 5:], past_key_values=first.past_key_values)
        if many is theirs:
            expected = second.logits
    assert (second.logits - expected).abs().max() < 1e-5


@torch.inference_mode()
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("heads", [1, 8])
def test_a_mask_of_the_callers_own(models, dtype, heads):
    theirs, ours = models
    tokens = torch.randint(0, 50, (2, 9))
    mask = torch.rand(2, heads, 9, 9) < 0.5
    mask[:, :, range(9), range(9)] = True
    if dtype != torch.bool:
        added = torch.randn(mask.shape).to(dtype)
        mask = torch.where(mask, added, float("-inf"))
    expected = mask if dtype == torch.bool else mask.float()
    difference = (
        ours(tokens, attention_mask=mask).logits - theirs(tokens, attention_mask=expected).logits
    )
    assert difference.abs().max() < 1e-5


@torch.inference_mode()
def test_a_scale_of_the_model():
    config = transformers.GraniteConfig(
        vocab_size=50, hidden_size=64, intermediate_size=96, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, attention_multiplier=0.3,
    )  # fmt: skip
    torch.manual_seed(4)
    model = transformers.GraniteForCausalLM(config).eval()
    tokens = torch.randint(0, 50, (1, 11))
    expected = model(tokens).logits
    model.set_attn_implementation(register_transformers())
    assert (model(tokens).logits - expected).abs().max() < 1e-5


@torch.inference_mode()
@pytest.mark.parametrize("left", [False, True])
def test_bfloat16(models, left):
    theirs, ours = (copy.deepcopy(one).to(torch.bfloat16) for one in models)
    tokens, mask = torch.randint(0, 50, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    mask[1, slice(0, 4) if left else slice(5, 9)] = 0
    exact = models[0](tokens, attention_mask=mask).logits

    def worst(model):
        y = model(tokens, attention_mask=mask).logits
        assert y.dtype == torch.bfloat16
        return (y - exact).abs()[mask.bool()].max()

    # The model's own products are of bfloat16, so both are as far away.
    assert worst(ours) < 1.5 * worst(theirs)
    step = ours.generate(tokens[:1], max_new_tokens=8, do_sample=False, pad_token_id=0)
    assert step.shape == (1, 17)


@torch.inference_mode()
def test_what_a_backend_does_not_read_goes_to_sdpa(models):
    ours = copy.deepcopy(models[1])
    ours.set_attn_implementation(register_transformers("headroom-autovec", backend="autovec"))
    tokens = torch.randint(0, 50, (1, 5))
    ours(tokens)
    with pytest.warns(FallbackWarning, match="the layer takes float32; sdpa"):
        ours.to(torch.bfloat16)(tokens)


def test_gradients_go_to_sdpa(models):
    _, ours = models
    with pytest.warns(FallbackWarning, match="gradients"):
        ours(torch.randint(0, 50, (1, 5))).logits.sum().backward()
    assert ours.model.layers[0].self_attn.q_proj.weight.grad is not None


@torch.inference_mode()
def test_compiles(models):
    theirs, ours = models
    tokens = torch.randint(0, 50, (1, 12))
    torch._dynamo.reset()
    compiled = torch.compile(ours, backend="aot_eager")
    assert (compiled(tokens).logits - theirs(tokens).logits).abs().max() < 1e-5


@torch.inference_mode()
def test_compiles_with_a_mask_that_was_made_before(models):
    theirs, ours = models
    tokens, mask = torch.randint(0, 50, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    mask[1, :4] = 0
    options = {"max_new_tokens": 6, "do_sample": False, "attention_mask": mask}
    options.update(pad_token_id=0, cache_implementation="static")
    compiled = copy.deepcopy(ours)
    torch._dynamo.reset()
    compiled.forward = torch.compile(compiled.forward, backend="aot_eager")
    expected = theirs.generate(tokens, **options)
    assert torch.equal(compiled.generate(tokens, **options), expected)
    layers = copy.deepcopy(ours)
    for layer in layers.model.layers:
        layer.forward = torch.compile(layer.forward, backend="aot_eager")
    for count in (9, 7):
        given = {"attention_mask": mask[:, :count]}
        difference = (layers(tokens[:, :count], **given).logits).sub(
            theirs(tokens[:, :count], **given).logits
        )
        assert difference[mask[:, :count].bool()].abs().max() < 1e-5


def test_calls_that_were_not_ours_are_counted(models):
    _, ours = models
    fallbacks(reset=True)
    tokens = torch.randint(0, 50, (1, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        ours(tokens)
    assert fallbacks() == {"gradients may be asked for; sdpa takes the call": 2}  # layers
    with torch.inference_mode():
        ours(tokens)
    assert sum(fallbacks(reset=True).values()) == 2 and not fallbacks()


@torch.inference_mode()
def test_no_mask_is_made(models, monkeypatch):
    _, ours = models

    def make(*_, **__):
        raise AssertionError("somebody made a mask")

    monkeypatch.setattr(transformers.masking_utils, "sdpa_mask", make)
    tokens, mask = torch.randint(0, 50, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    for side in (slice(0, 4), slice(5, 9)):
        mask[1] = 1
        mask[1, side] = 0
        ours(tokens, attention_mask=mask)
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    ours.generate(tokens, cache_implementation="static", **options)
    ours.generate(tokens, **options)


@pytest.mark.parametrize("name", ["sdpa", "eager", "flash_attention_2", "flex_attention"])
def test_names_that_transformers_has_are_refused(models, name):
    known = dict(transformers.AttentionInterface._global_mapping)
    masks = dict(transformers.AttentionMaskInterface._global_mapping)
    with pytest.raises(ValueError, match=f"name is '{name}', an implementation that transformers"):
        register_transformers(name)
    assert transformers.AttentionInterface._global_mapping == known
    assert transformers.AttentionMaskInterface._global_mapping == masks
    assert register_transformers("headroom") == register_transformers("headroom")
    with pytest.raises(TypeError, match="name is 3, of type int; allowed are texts"):
        register_transformers(3)
    with pytest.raises(TypeError, match="'bakend' is no option; did you mean 'backend'"):
        register_transformers("mine", bakend="tbb")
    assert "mine" not in transformers.AttentionInterface._global_mapping


def test_a_program_that_this_process_knows_nothing_of():
    q = torch.zeros(1, 2, 3, 8)
    with pytest.raises(RuntimeError, match="'theirs' is not known in this process; call register"):
        torch.ops.headroom.attend("theirs", q, q, q, False, 0, 1.0, 0.0, None, None)


@pytest.mark.parametrize("end", ["pass", "raise SystemExit(3)"])
@pytest.mark.parametrize(
    "use", ["pass", "ours(torch.zeros(1, 5, dtype=torch.long))", "headroom.attention(q, q, q)"]
)
def test_a_program_ends_in_silence(use, end):
    program = f"""
import headroom, torch, transformers
from headroom.torch import register_transformers

q = torch.zeros(1, 2, 3, 8)
config = transformers.LlamaConfig(
    vocab_size=50, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
    num_attention_heads=8, max_position_embeddings=64,
)
ours = transformers.LlamaForCausalLM(config).eval()
ours.set_attn_implementation(register_transformers())
with torch.inference_mode():
    {use}
{end}
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0 if end == "pass" else 3, "")
