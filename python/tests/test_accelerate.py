"""Models whose attention layers were replaced: as their own, in every way, and back."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import families  # noqa: E402
import tiny_models  # noqa: E402
from headroom.torch import FallbackWarning, accelerate, fallbacks  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("no_fallbacks_yet")]

ALL = {**families.FAMILIES, **families.ALONE}

# What the models themselves cannot do; and what Phi's do: keys of short and of long contexts in one
# cache, which the layer refuses.
LOST = {
    "falcon_rw": {"static cache", "a left-padded batch, static cache"},
    "bloom": {"static cache"},
    "mpt": {"one sequence", "a left-padded batch", "a left-padded batch, static cache"},
    "phi4": {"dynamic cache", "static cache"},
}


@pytest.mark.parametrize("name", ALL)
def test_a_family(name):
    result = families.measure_whole(ALL[name])
    assert result.calls > 0 and not result.fallbacks
    assert max(result.errors.values()) <= families.LIMIT, result.errors
    assert all(result.same.values()), result.same
    assert set(result.lost) == LOST.get(name, set()), result.lost
    assert min(result.half.values()) < 1.5, result.half


def test_a_cache_of_short_contexts_does_not_become_long():
    result = families.measure_whole(ALL["phi4"])
    assert result.lost
    for why in result.lost.values():
        assert why.startswith("headroom: ") and why.endswith("restore the model")
        assert "were turned for contexts up to 16, and this call is for others; start" in why


@pytest.fixture
def model():
    torch.manual_seed(3)
    made = tiny_models.make(tiny_models.config_of("qwen3"), "eager")
    tiny_models.draw(made)
    return made


def tokens(batch=2, count=9):
    return torch.randint(3, 60, (batch, count), generator=torch.Generator().manual_seed(4))


def test_it_goes_back(model):
    names = set(dict(model.named_modules()))
    state = {name: x.clone() for name, x in model.state_dict().items()}
    with torch.inference_mode():
        before = model(tokens()).logits
        with accelerate(model) as made:
            assert made.layers == ["model.layers.0.self_attn", "model.layers.1.self_attn"]
            assert made.packed_bytes > 0
            assert model.config._attn_implementation == "headroom_rows"
            assert set(dict(model.named_modules())) == names
            assert set(model.state_dict()) == set(state)
            assert not torch.equal(model(tokens()).logits, before)  # other sums
        assert model.config._attn_implementation == "eager"
        assert torch.equal(model(tokens()).logits, before)
        made.restore()  # changes nothing
        again = accelerate(model)
        assert again.restore() is model
    assert all(torch.equal(x, state[name]) for name, x in model.state_dict().items())


def test_what_it_refuses(model):
    gpt2 = tiny_models.make(tiny_models.config_of("gpt2"), "eager")
    with pytest.raises(ValueError, match="gpt2 has no attention layer .* known are bert"):
        accelerate(gpt2)
    with accelerate(model), pytest.raises(ValueError, match=r"layers.0.self_attn is accelerated"):
        accelerate(model)
    with pytest.raises(ValueError, match="q_proj.weight is of torch.float16 .* allowed are"):
        accelerate(copy.deepcopy(model).half())
    with pytest.raises(ValueError, match="no backend|unknown backend|backend"):
        accelerate(model, backend="none such")
    assert "forward" not in model.model.layers[0].self_attn.__dict__
    strange = copy.deepcopy(model)
    strange.config.rope_parameters["rope_type"] = "unheard of"
    with pytest.raises(RuntimeError, match="unheard of"):
        accelerate(strange)


@pytest.mark.parametrize("kind", ["qwen3", "bert", "t5"])
@pytest.mark.parametrize("why", ["gradients", "dropout", "output_attentions"])
def test_the_model_takes_what_the_layer_does_not(kind, why):
    torch.manual_seed(3)
    config = tiny_models.config_of(kind)
    names = {"bert": "attention_probs_dropout_prob", "t5": "dropout_rate"}
    setattr(config, names.get(kind, "attention_dropout"), 0.5 if why == "dropout" else 0.0)
    model = tiny_models.make(config, "eager", masked=kind == "bert")
    tiny_models.draw(model)
    model.train(why == "dropout")
    more = {"output_attentions": True} if why == "output_attentions" else {}

    def run():
        torch.manual_seed(8)
        given = {"decoder_input_ids": tokens()} if kind == "t5" else {}
        with torch.set_grad_enabled(why == "gradients"):
            return model(input_ids=tokens(), **given, **more)

    want = run()
    said = {"gradients": "gradients", "dropout": "dropped", "output_attentions": "asked for"}[why]
    with accelerate(model), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        got = run()
        found = fallbacks(reset=True)
        assert any(said in one for one in found), found
    assert got.logits.requires_grad == want.logits.requires_grad
    assert torch.allclose(got.logits, want.logits, rtol=1e-4, atol=1e-5) or why == "dropout"
    if more:
        name = "decoder_attentions" if kind == "t5" else "attentions"
        assert torch.allclose(getattr(got, name)[1], getattr(want, name)[1], atol=1e-5)


@pytest.mark.parametrize("alone", [0, 1])
def test_biases_that_the_first_layer_hands_on(alone):
    """T5's, where one of two layers is the model's own."""
    torch.manual_seed(3)
    model = tiny_models.make(tiny_models.config_of("t5"), "eager")
    tiny_models.draw(model)
    given = {"input_ids": tokens(), "max_new_tokens": 9, "decoder_start_token_id": 0}
    with torch.inference_mode():
        want = model(input_ids=tokens(), decoder_input_ids=tokens()).logits
        generated = model.generate(**given)
        with accelerate(model) as made, warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            for layer in made._layers[alone::2]:
                layer.dtype = torch.float64
            assert close(model(input_ids=tokens(), decoder_input_ids=tokens()).logits, want)
            assert torch.equal(model.generate(**given), generated)
            assert fallbacks()


def test_beams(model):
    given = {"max_new_tokens": 12, "num_beams": 3, "do_sample": False, "pad_token_id": 0}
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, :4] = 0
    want = model.generate(tokens(), attention_mask=mask, **given)
    with accelerate(model):
        got = model.generate(tokens(), attention_mask=mask, **given)
    assert torch.equal(got, want) and not fallbacks()


def close(got, want):
    """The model's own products have other sums for other numbers of rows."""
    return torch.allclose(got, want, rtol=1e-4, atol=1e-5)


def steps(model, cache, *parts):
    with torch.inference_mode():
        return torch.cat([model(one, cache=cache).logits for one in parts], 1)


def test_a_cache(model):
    x = tokens(2, 12)
    with accelerate(model, rows=4), torch.inference_mode():
        whole = model(x).logits
        cache = transformers.DynamicCache(config=model.config)
        assert close(steps(model, cache, x[:, :7], x[:, 7:8], x[:, 8:]), whole)
        assert cache.get_seq_length() == 12
        with pytest.raises(RuntimeError, match="start with a new cache"):
            cache.update(torch.ones(2, 2, 1, 8), torch.ones(2, 2, 1, 8), 0)
        cache.crop(-5)
        assert cache.get_seq_length() == 7
        assert close(steps(model, cache, x[:, 7:]), whole[:, 7:])
        cache.reset()
        assert cache.get_seq_length() == 0
        assert close(steps(model, cache, x), whole)
        cache.crop(-1)
        cache.batch_repeat_interleave(2)
        assert close(
            steps(model, cache, x[:, 11:].repeat_interleave(2, 0)),
            whole[:, 11:].repeat_interleave(2, 0),
        )
        cache.crop(-1)
        cache.batch_select_indices(torch.tensor([2]))
        assert close(steps(model, cache, x[1:, 11:]), whole[1:, 11:])
        with pytest.raises(ValueError, match="the call has 2"):
            steps(model, cache, x[:, :1])


def test_a_cache_of_latents_has_nothing_else():
    torch.manual_seed(3)
    model = tiny_models.make(tiny_models.config_of("deepseek_v3"), "eager")
    tiny_models.draw(model)
    config = model.config
    with accelerate(model), torch.inference_mode():
        cache = transformers.DynamicCache(config=config)
        model(tokens(), cache=cache)
        model(tokens(2, 1), cache=cache)
        layer = cache.layers[0]
        assert layer.keys is None and layer.theirs.get_seq_length() == 0
        kept = layer._kept
        places = kept.sequences * (kept.capacity + 32)  # rounded up to a multiple of it
        numbers = config.kv_lora_rank + config.qk_rope_head_dim
        assert kept.lengths == [10, 10] and kept.nbytes <= 4 * places * numbers * 1.2
    own = config.qk_nope_head_dim + config.v_head_dim
    assert numbers * 1.2 < config.num_attention_heads * own  # what expanded ones would take


def test_a_cache_that_another_began(model):
    x = tokens(2, 12)
    cache = transformers.DynamicCache(config=model.config)
    want = steps(model, copy.deepcopy(cache), x[:, :7], x[:, 7:])
    first = steps(model, cache, x[:, :7])
    with accelerate(model), pytest.warns(FallbackWarning, match="begun by the model's own"):
        rest = steps(model, cache, x[:, 7:])
    assert close(torch.cat((first, rest), 1), want)


@pytest.mark.parametrize("positions", [[0, 1, 2, 7, 8], [0, 1, 2, 0, 1]])
def test_positions_that_do_not_follow(model, positions):
    x, given = tokens(2, 5), torch.tensor([positions])
    with torch.inference_mode():
        mask = torch.full((1, 1, 5, 5), torch.finfo(torch.float32).min).triu(1)
        want = model(x, position_ids=given, attention_mask={"full_attention": mask}).logits
        with accelerate(model):
            got = model(x, position_ids=given, attention_mask={"full_attention": mask}).logits
            assert close(got, want) and not fallbacks()


def test_a_mask_that_changes_its_mind(model):
    x, mask = tokens(2, 7), torch.ones(2, 7, dtype=torch.long)
    other = mask.clone()
    other[1, 2] = 0
    left = mask.clone()
    left[1, :2] = 0
    right = mask.clone()
    right[0, :2] = 0

    def run(first, second):
        cache = transformers.DynamicCache(config=model.config)
        model(x[:, :5], attention_mask=first[:, :5], cache=cache)
        parts = ((5, 6), (6, 7))
        return [
            model(x[:, a:b], attention_mask=second[:, :b], cache=cache).logits for a, b in parts
        ]

    with torch.inference_mode():
        want = run(mask, other)
        with accelerate(model):
            assert all(close(a, b) for a, b in zip(run(mask, other), want)) and not fallbacks()
            with pytest.raises(ValueError, match="shows earlier tokens that it hid before"):
                run(left, right)


def test_a_mask_of_ones_own(model):
    x = tokens(2, 6)
    order = torch.ones(1, 1, 6, 6, dtype=torch.bool).tril().expand(2, 1, 6, 6).clone()
    order[1, :, :, :2] = False
    with torch.inference_mode(), accelerate(model):
        mask = torch.ones(2, 6, dtype=torch.long)
        mask[1, :2] = 0
        got = model(x, attention_mask={"full_attention": order}).logits
        want = model(x, attention_mask=mask).logits
        assert torch.equal(got[1, 2:], want[1, 2:])
        order[0, :, 5, 1] = False
        other = model(x, attention_mask={"full_attention": order}).logits
        assert close(other[1, 2:], want[1, 2:])
        assert not close(other[0, 5], want[0, 5]) and not fallbacks()


def test_other_weights_are_packed(model):
    other = copy.deepcopy(model)
    tiny_models.draw(other)
    with torch.inference_mode(), accelerate(model) as made:
        model.load_state_dict(other.state_dict())
        got = model(tokens()).logits
        model.model.layers[0].self_attn.q_proj.weight.mul_(2)
        made.repack()
        assert not torch.equal(model(tokens()).logits, got)
        with accelerate(other):
            assert torch.equal(other(tokens()).logits, got)


def test_a_base_that_grows():
    torch.manual_seed(3)
    rope = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 100.0}
    config = transformers.LlamaConfig(
        vocab_size=60, hidden_size=32, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=16, rope_parameters=rope,
    )  # fmt: skip
    grows = transformers.LlamaForCausalLM._from_config(config, attn_implementation="eager").eval()
    tiny_models.draw(grows)
    x = tokens(2, 23)
    parts = (x[:, :9], x[:, 9:21], x[:, 21:22], x[:, 22:])
    want = steps(grows, transformers.DynamicCache(config=config), *parts)
    with accelerate(grows, rows=4):
        got = steps(grows, transformers.DynamicCache(config=config), *parts)
    assert close(got, want) and not fallbacks()


@pytest.mark.parametrize("name", ["llama3", "t5", "falcon", "bloom", "mpt", "modernbert"])
def test_attention_weights(name):
    """Which some models collect without a word to their layers."""
    models = families.Models(ALL[name], whole=True)
    given = next(iter(models.cases().values()))[0]
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    with torch.inference_mode(), accelerate(models.ours), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        got = models.ours(**given, output_attentions=True)
        assert sum(fallbacks(reset=True).values())
        want = models.eager(**given, output_attentions=True)
        again = models.ours(**given)
    assert not fallbacks(reset=True) and not any(again.get(one) for one in names)
    found = [one for one in names if want.get(one)]
    assert found and all(len(got[one]) == len(want[one]) for one in found)
    for one in found:
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(got[one], want[one]))
