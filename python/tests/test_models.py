"""Every kind of model with the attention of headroom: as its own in float64, or refused."""

import warnings

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import tiny_models  # noqa: E402
from headroom.torch import FallbackWarning, _transformers, register_transformers  # noqa: E402
from transformers import masking_utils  # noqa: E402

import reference  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nothing_said")]

MASKED, DECODER = {"masked": True}, {"is_decoder": True}

# Whose attention our kernels compute, with every mask.
BY_US = [
    ("llama", {}),
    ("mistral", {"sliding_window": None}),
    ("qwen2", {}),
    ("qwen3", {}),
    ("gemma", {}),
    ("gpt2", {}),
    ("phi3", {"sliding_window": None}),
    ("stablelm", {}),
    ("bert", MASKED),
    ("bert", DECODER),
    ("modernbert", MASKED),
    ("bart", {}),
    ("gemma3_text", {}),
    ("mistral", {}),
    ("modernbert-decoder", {}),
    ("deepseek_v2", {}),
    ("deepseek_v3", {}),
    ("t5", {}),
    ("gemma2", {}),
    ("gpt_oss", {}),
    ("mimo_v2_flash", {}),
    ("granite_swa", {}),
    ("granitemoe_swa", {}),
    ("flint", {}),
    ("openai_privacy_filter", {}),
    ("pegasus_x", {"block_size": 4, "num_global_tokens": 4}),
]
# Whose masks are of their own kind.
BY_THEMSELVES = [
    ("deepseek_v4", {}),
    ("hy_v4", {}),
    ("inkling2_text", {}),
    ("nllb-moe", {}),
]
# Whose router computes in float32, whatever the model does.
SINGLE = {"inkling2_text"}
# Which would lose their masks, or end in a KeyError.
REFUSED = [
    ("bloom", {}),
    ("codegen", {}),
    ("xglm", {}),
    ("gpt_neox_japanese", {}),
    ("megatron-bert", DECODER),
    ("roformer", DECODER),
    ("mpnet", MASKED),
    ("rembert", MASKED),
    ("convbert", MASKED),
    ("ibert", MASKED),
    ("mpt", {}),
    ("gptj", {}),
    ("gpt_neo", {"attention_types": [[["global", "local"], 1]]}),
    ("falcon", {}),
]
# Which leave a part of their mask to the implementation.
REFUSED_AT_A_CALL = [("deepseek_v32", {}), ("glm_moe_dsa", {}), ("axk2", {})]


def families(*lists):
    return [
        pytest.param(kind, more, id="-".join([kind, *more])) for one in lists for kind, more in one
    ]


@pytest.fixture(autouse=True)
def exact_masks(monkeypatch):
    """The mask that transformers adds to scores in float64 leaves no room for the scores."""

    def mask(*sizes, **options):
        made = masking_utils.eager_mask(*sizes, **options)
        return made.clamp(min=-1e30) if made is not None and made.dtype == torch.float64 else made

    known = transformers.AttentionMaskInterface._global_mapping
    monkeypatch.setitem(known, "eager", mask)
    torch.manual_seed(5)


def config_of(kind, more):
    if not tiny_models.knows(kind):
        pytest.skip(f"transformers {transformers.__version__} has no {kind}")
    more = {**more}
    return {"config": tiny_models.config_of(kind, **more), "masked": more.pop("masked", False)}


def pair(kind, more):
    """A model by its own functions in float64, and the same by us."""
    made = config_of(kind, more)
    exact = tiny_models.make(implementation="eager", **made)
    exact = exact if kind in SINGLE else exact.double()
    tiny_models.draw(exact)
    ours = tiny_models.make(implementation=register_transformers(), **made)
    ours.load_state_dict(exact.state_dict())
    return exact, ours


def masks():
    every = torch.ones(2, 9, dtype=torch.long)
    left, right = every.clone(), every.clone()
    left[1, :4] = 0
    right[1, 5:] = 0
    return {"none": None, "all": every, "left": left, "right": right}


def answers_alike(exact, ours):
    tokens = torch.randint(3, 60, (2, 9))
    for name, mask in masks().items():
        want = tiny_models.logits(exact, tokens, mask)
        got = tiny_models.logits(ours, tokens, mask)
        # What is said of tokens of padding is nobody's answer.
        shown = torch.ones(2, 9, dtype=torch.bool) if mask is None else mask.bool()
        assert reference.close(got[shown], want[shown]), name


@torch.inference_mode()
@pytest.mark.parametrize("kind, more", families(BY_US))
def test_every_call_is_ours(kind, more):
    exact, ours = pair(kind, more)
    answers_alike(exact, ours)  # a warning would be an error
    assert _transformers._kernels["headroom"][torch.float32].made


@torch.inference_mode()
@pytest.mark.parametrize("kind, more", families(BY_THEMSELVES))
def test_models_that_are_left_to_themselves(kind, more):
    with pytest.warns(FallbackWarning, match="computes with masks of its own"):
        exact, ours = pair(kind, more)
    assert ours.config._attn_implementation == "eager"
    answers_alike(exact, ours)


@pytest.mark.parametrize("kind, more", families(REFUSED))
def test_models_that_would_lose_their_masks(kind, more):
    made = config_of(kind, more)
    if kind in ("codegen", "gptj") and transformers.__version__ >= "5.24":
        pytest.skip(f"{kind} asks for the implementation since transformers 5.24")
    with pytest.raises(ValueError, match=r"computes attention itself.*attn_implementation='eager'"):
        tiny_models.make(implementation=register_transformers(), **made)


@torch.inference_mode()
@pytest.mark.parametrize("kind, more", families(REFUSED_AT_A_CALL))
def test_models_that_leave_a_part_of_their_mask(kind, more):
    _, ours = pair(kind, more)
    with pytest.raises(ValueError, match=r"'indices'.*attn_implementation='eager'"):
        tiny_models.logits(ours, torch.randint(3, 60, (2, 9)))


@torch.inference_mode()
@pytest.mark.parametrize("kind, more", families(BY_US, BY_THEMSELVES))
def test_tokens_of_generate(kind, more):
    if "masked" in more or kind == "openai_privacy_filter":
        pytest.skip(f"{kind} generates nothing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        exact, ours = pair(kind, more)
        theirs = tiny_models.make(implementation="eager", **config_of(kind, more))
        theirs.load_state_dict(exact.state_dict())
        tokens, left = torch.randint(3, 60, (2, 9)), masks()["left"]
        options = {"max_new_tokens": 6, "do_sample": False, "attention_mask": left}
        if ours.config.is_encoder_decoder:
            options["decoder_start_token_id"] = 1
        assert torch.equal(ours.generate(tokens, **options), theirs.generate(tokens, **options))


# Implementations that are set by hand, past all that is asked when a model is loaded.


@torch.inference_mode()
@pytest.mark.parametrize("kind, why", [("bloom", "computes attention itself"),
                                       ("nllb-moe", "set_attn_implementation")])  # fmt: skip
def test_an_implementation_set_in_the_config(kind, why):
    model = tiny_models.make(implementation="eager", **config_of(kind, {}))
    model.config._attn_implementation = register_transformers()
    with pytest.raises(ValueError, match=why):
        tiny_models.logits(model, torch.randint(3, 60, (2, 9)))


def attention_of(kind):
    """The first attention module of a model, and queries and keys for it."""
    model = tiny_models.make(implementation="eager", **config_of(kind, {}))
    tiny_models.draw(model)
    query, key, value = (torch.randn(2, heads, 9, 8) for heads in (4, 2, 2))
    register_transformers()
    call = transformers.AttentionInterface._global_mapping["headroom"]
    return model.model.layers[0].self_attn, call, (query, key, value)


@torch.inference_mode()
def test_sinks_are_a_part_of_the_call():
    module, call, parts = attention_of("gpt_oss")
    y, _ = call(module, *parts, None, scaling=module.scaling, s_aux=module.sinks)
    seen = torch.full((9, 9), torch.finfo(torch.float32).min).triu(1)
    eager = transformers.models.gpt_oss.modeling_gpt_oss.eager_attention_forward
    assert torch.allclose(y, eager(module, *parts, seen, scaling=module.scaling)[0], atol=1e-6)


@torch.inference_mode()
@pytest.mark.parametrize("rows", [1, 3])
def test_tokens_after_others_without_a_mask_see_them_all(rows):
    module, call, (query, key, value) = attention_of("gpt_oss")
    query = query[:, :, :rows]
    y, _ = call(module, query, key, value, None, scaling=0.5, s_aux=module.sinks)
    seen = torch.full((rows, 9), torch.finfo(torch.float32).min).triu(10 - rows)
    eager = transformers.models.gpt_oss.modeling_gpt_oss.eager_attention_forward
    expected = eager(module, query, key, value, seen, scaling=0.5)[0]
    assert torch.allclose(y, expected, atol=1e-6)


@torch.inference_mode()
def test_a_window_without_a_mask():
    module, call, parts = attention_of("llama")
    y, _ = call(module, *parts, None, scaling=0.5, sliding_window=3)
    seen = torch.full((9, 9), torch.finfo(torch.float32).min)
    seen = seen.triu(1) + seen.tril(-3)
    eager = transformers.models.llama.modeling_llama.eager_attention_forward
    assert torch.allclose(y, eager(module, *parts, seen, scaling=0.5)[0], atol=1e-6)


def test_a_cap_with_gradients_goes_to_the_own_function_of_the_module():
    module, call, (query, key, value) = attention_of("gemma2")
    query.requires_grad_()
    with pytest.warns(FallbackWarning, match="gradients.*the model's own function"):
        y, _ = call(module, query, key, value, None, scaling=0.5, softcap=2.0)
    y.sum().backward()
    with torch.no_grad():
        ours, _ = call(module, query, key, value, None, 0.0, 0.5, softcap=2.0)
    assert torch.allclose(y, ours, atol=1e-6)  # both are rounded, each in its own way
    assert query.grad is not None


@torch.inference_mode()
def test_attention_weights_come_from_the_own_function():
    module, call, parts = attention_of("llama")
    with pytest.warns(FallbackWarning, match="asks for output_attentions"):
        _, weights = call(module, *parts, None, scaling=8**-0.5, output_attentions=True)
    assert torch.allclose(weights.sum(-1), torch.ones(()))
    assert not weights.triu(1).any()


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["llama", "gpt2", "gpt_bigcode", "nemotron", "opt", "persimmon"])
def test_attention_weights_that_the_model_collects(kind):
    """Of some models only the model knows that they are asked for, and not its layers."""
    exact, ours = pair(kind, {})
    tokens = torch.randint(3, 60, (2, 9))
    want = exact(input_ids=tokens, output_attentions=True).attentions
    with pytest.warns(FallbackWarning, match="asks for output_attentions; the model's own"):
        got = ours(input_ids=tokens, output_attentions=True).attentions
    assert len(got) == len(want) == 2
    assert all(torch.allclose(a.double(), b.double(), atol=1e-5) for a, b in zip(got, want))
    ours(input_ids=tokens)  # a warning would be an error


@torch.inference_mode()
def test_an_argument_that_nobody_knows_is_refused():
    module, call, parts = attention_of("llama")
    call(module, *parts, None, scaling=8**-0.5, novel=None, sliding_window=99)
    with pytest.raises(ValueError, match="LlamaAttention hands its attention 'novel'"):
        call(module, *parts, None, scaling=8**-0.5, novel=torch.ones(1))
