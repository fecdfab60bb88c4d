"""What somebody put on a module that headroom would replace: refused by name, or kept."""

import copy
import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import tiny_models  # noqa: E402
from headroom.torch import (  # noqa: E402
    MultiheadAttention,
    accelerate,
    fallbacks,
    register_transformers,
)  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nothing_said")]


class Adapted(nn.Linear):
    """As adapters are: a product and something more."""

    def forward(self, x):
        return super().forward(x) + 1


class Plain(nn.Linear):
    """Another name for the same."""


def made(kind="qwen3"):
    torch.manual_seed(3)
    model = tiny_models.make(tiny_models.config_of(kind), "eager", masked=kind == "bert")
    tiny_models.draw(model)
    return model.requires_grad_(False)


def tokens():
    return torch.randint(3, 60, (2, 9), generator=torch.Generator().manual_seed(4))


def attention_of(model):
    kind = model.config.model_type
    return model.bert.encoder.layer[1].attention if kind == "bert" else model.model.layers[1]


def close(got, want):
    return torch.allclose(got, want, rtol=1e-4, atol=1e-5)


def adapted(linear, kind=Adapted):
    made = kind(linear.in_features, linear.out_features, linear.bias is not None)
    made.load_state_dict(linear.state_dict())
    return made


@pytest.mark.parametrize("kind", ["qwen3", "bert"])
@pytest.mark.parametrize("why", ["class", "set", "hook", "before"])
def test_a_product_that_does_more(kind, why):
    model = made(kind)
    around = attention_of(model)
    parts = ((around.self, "value"), (around.output, "dense")) if kind == "bert" else (
        (around.self_attn, "v_proj"), (around.self_attn, "o_proj"))  # fmt: skip
    for holder, name in parts:
        model = copy.deepcopy(model)
        around = attention_of(model)
        holder = around.self if name == "value" else around.output if kind == "bert" else (
            around.self_attn)  # fmt: skip
        linear = getattr(holder, name)
        text = {
            "class": "is a Adapted with a forward of its own",
            "set": "has a forward that was set on it",
        }
        if why == "class":
            setattr(holder, name, adapted(linear))
        elif why == "set":
            linear.forward = lambda x, linear=linear: nn.Linear.forward(linear, x) + 1
        elif why == "hook":
            linear.register_forward_hook(lambda *_: None)
        else:
            linear.register_forward_pre_hook(lambda *_: None)
        with pytest.raises(ValueError, match=rf"{name} {text.get(why, 'has forward hooks')}"):
            accelerate(model)
        assert "forward" not in around.__dict__
        model = made(kind)


def test_a_class_that_changes_no_forward():
    model = made()
    with torch.inference_mode():
        want = model(tokens()).logits
        layer = model.model.layers[1].self_attn
        layer.v_proj = adapted(layer.v_proj, Plain)
        with accelerate(model):
            assert close(model(tokens()).logits, want)


def test_a_forward_set_on_an_attention_module():
    model = made()
    layer = model.model.layers[1].self_attn
    own = layer.forward

    def mine(*args, **kwargs):
        found = own(*args, **kwargs)
        return (2 * found[0], *found[1:])

    layer.forward = mine
    with pytest.raises(ValueError, match="layers.1.self_attn has a forward that was set on it"):
        accelerate(model)
    assert layer.forward is mine
    assert "forward" not in model.model.layers[0].self_attn.__dict__


def test_a_forward_set_on_an_accelerated_module_stays():
    model = made()
    with torch.inference_mode():
        want = model(tokens()).logits
        replaced = accelerate(model)
        layer = model.model.layers[1].self_attn
        ours = layer.forward
        calls = []

        def mine(*args, **kwargs):
            calls.append(1)
            return ours(*args, **kwargs)

        layer.forward = mine
        assert close(model(tokens()).logits, want)
        replaced.restore()
        assert layer.forward is mine
        assert torch.equal(model(tokens()).logits, want)  # by the model's own sums
    assert len(calls) == 2


def test_hooks_of_an_attention_module_are_called():
    model = made()
    with torch.inference_mode():
        seen = []
        model.model.layers[0].self_attn.register_forward_hook(lambda *_: seen.append(1))
        with accelerate(model):
            model(tokens())
    assert seen == [1]


def test_modules_of_pytorch():
    class Mine(nn.MultiheadAttention):
        def forward(self, *args, **kwargs):
            return super().forward(*args, **kwargs)[0] + 1, None

    with pytest.raises(TypeError, match="module is a Mine with a forward of its own"):
        MultiheadAttention.from_module(Mine(32, 4))
    module = nn.MultiheadAttention(32, 4)
    module.register_forward_hook(lambda *_: None)
    with pytest.raises(TypeError, match="module has forward hooks"):
        MultiheadAttention.from_module(module)


class Textbook(nn.Module):
    def __init__(self, out_proj=None):
        super().__init__()
        self.num_heads = 4
        self.W_query, self.W_key, self.W_value = (nn.Linear(32, 32) for _ in range(3))
        self.out_proj = nn.Linear(32, 32) if out_proj is None else out_proj


def test_products_of_a_textbook_module():
    for name in ("W_query", "W_key", "W_value", "out_proj"):
        module = Textbook()
        setattr(module, name, Adapted(32, 32))
        with pytest.raises(TypeError, match=f"{name} is a Adapted with a forward of its own"):
            MultiheadAttention.from_module(module, causal=False)
    with pytest.raises(TypeError, match="out_proj is a Sequential; allowed is nn.Linear"):
        MultiheadAttention.from_module(Textbook(nn.Sequential()), causal=False)


# Weights that are loaded into a part.


@pytest.mark.parametrize("part", ["", "model", "model.layers.1", "model.layers.1.self_attn",
                                  "model.layers.1.self_attn.v_proj"])  # fmt: skip
@pytest.mark.parametrize("assign", [False, True])
def test_weights_loaded_into_a_part_of_a_model(part, assign):
    model, other = made(), made()
    tiny_models.draw(other)
    with torch.inference_mode():
        with accelerate(model):
            before = model(tokens()).logits
            state = copy.deepcopy(other.get_submodule(part).state_dict())
            model.get_submodule(part).load_state_dict(state, assign=assign)
            got = model(tokens()).logits
        assert close(got, model(tokens()).logits) and not close(got, before)


@pytest.mark.parametrize("part", ["", "self", "self.query", "output.dense"])
def test_weights_loaded_into_a_part_of_an_encoder(part):
    model, other = made("bert"), made("bert")
    tiny_models.draw(other)
    with torch.inference_mode(), accelerate(model) as replaced:
        model(tokens())
        mine, theirs = (attention_of(one).get_submodule(part) for one in (model, other))
        mine.load_state_dict(theirs.state_dict())
        got = model(tokens()).logits
        replaced.restore()
        assert close(got, model(tokens()).logits)


@pytest.mark.parametrize("part", ["", "original", "original.out_proj"])
def test_weights_loaded_into_a_part_of_a_module(part):
    torch.manual_seed(4)
    ours, other = (
        MultiheadAttention.from_module(nn.MultiheadAttention(32, 4, batch_first=True).eval())
        for _ in range(2)
    )
    x = torch.randn(2, 6, 32)
    with torch.inference_mode():
        ours(x, x, x, need_weights=False)
        state = other.get_submodule(part).state_dict()
        (ours.get_submodule(part) if part else nn.Sequential(ours)[0]).load_state_dict(state)
        got = ours(x, x, x, need_weights=False)[0]
        assert close(got, ours.original(x, x, x, need_weights=False)[0])


# Copies and pickles.


@pytest.mark.parametrize("kind", ["qwen3", "bert"])
@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_an_accelerated_model(kind, way):
    model = made(kind)
    with torch.inference_mode():
        own = model(tokens()).logits
        with accelerate(model) as replaced:
            want = model(tokens()).logits
            other = way(model)
            assert torch.equal(other(tokens()).logits, want)
            for parameter in model.parameters():
                parameter.zero_()
            replaced.repack()
            assert torch.equal(other(tokens()).logits, want)
            state = {name: 2 * x for name, x in attention_of(other).state_dict().items()}
            attention_of(other).load_state_dict(state)
            assert not close(other(tokens()).logits, want)
        both = way(accelerate(made(kind)))
        assert torch.equal(both.model(tokens()).logits, want)
        assert torch.equal(both.restore()(tokens()).logits, own)
        assert not fallbacks()


ELSEWHERE = """
import sys, warnings
import torch
warnings.simplefilter("error")
saved, tokens, want = torch.load(sys.argv[1], weights_only=False)
with torch.inference_mode():
    assert torch.equal(saved.model(tokens).logits, want)
    assert saved.model.generate(tokens, max_new_tokens=4, pad_token_id=0).shape == (2, 13)
    saved.restore()
    assert torch.allclose(saved.model(tokens).logits, want, rtol=1e-4, atol=1e-5)
"""


def test_an_accelerated_model_of_another_process(tmp_path):
    model = made()
    with torch.inference_mode():
        replaced = accelerate(model)
        torch.save((replaced, tokens(), model(tokens()).logits), tmp_path / "model.pt")
    run = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "model.pt")]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_copies_of_a_cache_of_an_accelerated_model():
    """As one begins many answers with one prompt."""
    model = made()
    with torch.inference_mode(), accelerate(model):
        x = tokens()
        whole = model(x).logits
        cache = transformers.DynamicCache(config=model.config)
        model(x[:, :6], cache=cache)
        for one in (copy.deepcopy(cache), copy.deepcopy(cache), cache):
            assert close(model(x[:, 6:], cache=one).logits, whole[:, 6:])
            assert one.get_seq_length() == 9
        with pytest.raises(TypeError, match="Attention has no pickle: what it packed"):
            pickle.dumps(cache)


# Programs for other processes.

EXPORTED = """
import sys
import torch
program = torch.export.load(sys.argv[1])
if sys.argv[3] == "headroom":  # another module, which has the first number of this process
    from headroom.torch import MultiheadAttention
    module = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
    ours = MultiheadAttention.from_module(module)
x, want = torch.load(sys.argv[2])
with torch.inference_mode():
    assert torch.allclose(program.module()(x, x, x), want, atol=1e-5)
"""


class WithoutWeights(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention = attention

    def forward(self, query, key, value):
        return self.attention(query, key, value, need_weights=False)[0]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("where", ["alone", "headroom"])
def test_an_exported_program_has_its_own_weights(tmp_path, strict, where):
    torch.manual_seed(4)
    module = nn.MultiheadAttention(32, 4, batch_first=True).eval().requires_grad_(False)
    x = torch.randn(2, 6, 32)
    ours = WithoutWeights(MultiheadAttention.from_module(module))
    with torch.inference_mode():
        torch.save((x, ours(x, x, x)), tmp_path / "x.pt")
    with pytest.warns(UserWarning, match="a traced or exported program has the original module"):
        program = torch.export.export(ours, (x, x, x), strict=strict)
    torch.export.save(program, tmp_path / "program.pt2")
    run = [sys.executable, "-c", EXPORTED, *map(str, (tmp_path / "program.pt2", tmp_path / "x.pt"))]
    done = subprocess.run([*run, where], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_traced_program_is_no_constant():
    torch.manual_seed(4)
    module = nn.MultiheadAttention(32, 4, batch_first=True).eval().requires_grad_(False)
    ours = WithoutWeights(MultiheadAttention.from_module(module))
    x, y = torch.randn(2, 2, 6, 32)
    with torch.inference_mode(), pytest.warns(UserWarning, match="a traced or exported program"):
        traced = torch.jit.trace(ours, (x, x, x), check_trace=False)
        want, other = traced(y, y, y), ours(y, y, y)
    assert torch.allclose(want, other, atol=1e-5)


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens, use_cache=False).logits


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("way", ["headroom", "accelerate"])
def test_a_traced_model_is_no_constant(way):
    model = made()
    if way == "headroom":
        model.set_attn_implementation(register_transformers())
    else:
        accelerate(model)
    logits, first, other = Logits(model), tokens(), (tokens() + 7) % 60
    with torch.inference_mode(), pytest.warns(UserWarning, match="a traced or exported program"):
        traced = torch.jit.trace(logits, (first,), check_trace=False)
        assert close(traced(other), logits(other))


def test_a_graph_of_a_module_that_is_gone():
    ours = MultiheadAttention.from_module(nn.MultiheadAttention(32, 4, batch_first=True).eval())
    handle, x = ours._handle, torch.randn(2, 6, 32)
    assert handle != MultiheadAttention.from_module(ours.original)._handle > 1 << 32
    del ours
    with pytest.raises(RuntimeError, match="made with a module that is not in this process"):
        torch.ops.headroom.attention(x, None, None, None, handle, False)


# Nested tensors, which PyTorch's encoder makes of padded batches.


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype:UserWarning")
def test_an_encoder_with_nested_tensors():
    torch.manual_seed(4)
    layer = nn.TransformerEncoderLayer(64, 4, batch_first=True).eval()
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x, padding = torch.randn(3, 6, 64), torch.arange(6) >= torch.tensor([[6], [4], [1]])
    with torch.inference_mode():
        want = copy.deepcopy(encoder).double()(x.double(), src_key_padding_mask=padding)
        for one in encoder.layers:
            one.self_attn = MultiheadAttention.from_module(one.self_attn)
        got = encoder(x, src_key_padding_mask=padding)
        assert encoder.layers[0].self_attn._layers.made and not fallbacks()
        assert (got - want).abs().max() < 1e-5 and not bool(got[padding].any())
        nested = torch.nested.as_nested_tensor([x[0], x[1, :4]])
        ours = encoder.layers[0].self_attn
        y = ours(nested, nested, nested, need_weights=False)[0]
        assert y.is_nested and [len(one) for one in y.unbind()] == [6, 4]
