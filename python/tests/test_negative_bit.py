"""Tensors whose memory has the other sign, as PyTorch leaves it where a sign is taken late."""

import copy

import headroom
import pytest

torch = pytest.importorskip("torch")

from headroom import Attention, DotProductAttention  # noqa: E402
from headroom.torch import MultiheadAttention  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nothing_said")]

WIDTH = 32


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(2)


def late(x):
    """The same numbers, by the sign of their memory taken late."""
    made = torch._neg_view(x.neg())
    assert made.is_neg() and torch.equal(made, x)
    return made


def imaginary(*shape):
    made = torch.complex(torch.zeros(shape), torch.randn(shape)).conj().imag
    assert made.is_neg()
    return made


def layer_of(change, **options):
    parts = {name: change(torch.randn(WIDTH, WIDTH) / 6) for name in ("query", "key", "value")}
    return Attention(**parts, query_bias=change(torch.randn(WIDTH)), heads=4, tokens=6, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_layer(dtype):
    options = {"dtype": "bf16"} if dtype == torch.bfloat16 else {}
    layer = layer_of(lambda x: x, **options)
    x = torch.randn(6, WIDTH).to(dtype)
    want = layer(x)
    assert torch.equal(layer(late(x)), want)
    torch.manual_seed(2)
    assert torch.equal(layer_of(lambda x: late(x.to(dtype)), **options)(x), want) or options
    added = torch.randn(1, 4, 6, 6)
    assert torch.equal(layer(x, mask=late(added)), layer(x, mask=added))
    out = torch.full((6, WIDTH), 5.0, dtype=dtype)
    with pytest.raises(ValueError, match=r"out has its negative bit set.*resolve_neg"):
        layer(x, late(out))
    cross = Attention(
        *(torch.randn(WIDTH, WIDTH) / 6 for _ in range(3)), heads=4, tokens=6, memory_tokens=6
    )
    x, memory = torch.randn(6, WIDTH), torch.randn(6, WIDTH)
    assert torch.equal(cross(x, memory=late(memory)), cross(x, memory=memory))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_attention(dtype):
    q, k, v = (imaginary(2, 4, 6, 8).to(dtype) for _ in range(3))
    want = headroom.attention(*(x.resolve_neg() for x in (q, k, v)))
    assert torch.equal(headroom.attention(q, k, v), want)
    assert torch.equal(headroom.attention(*(late(x.resolve_neg()) for x in (q, k, v))), want)
    out = late(torch.zeros_like(want))
    assert headroom.attention(q, k, v, out=out) is out and torch.equal(out, want)
    for wrong in (late(torch.zeros(3, 4, 6, 8)), late(torch.zeros(2, 4, 6, 1))):
        with pytest.raises(ValueError, match="out (has shape|is) "):
            headroom.attention(q, k, v, out=wrong.to(dtype))
    numbers = [x.float().resolve_neg().numpy() for x in (q, k, v)]
    out = late(torch.zeros(2, 4, 6, 8))
    assert headroom.attention(*numbers, out=out) is out
    assert (out.numpy(force=True) == headroom.attention(*numbers)).all()
    sinks = torch.randn(4)
    assert torch.equal(
        headroom.attention(q, k, v, sinks=late(sinks)), headroom.attention(q, k, v, sinks=sinks)
    )


def test_attention_that_is_made_once():
    q = torch.randn(1, 4, 6, 8)
    attend = DotProductAttention(heads=4, head_dim=8, tokens=6)
    assert torch.equal(attend(late(q), late(q), late(q)), attend(q, q, q))


@torch.inference_mode()
def test_a_module():
    module = torch.nn.MultiheadAttention(WIDTH, 4, batch_first=True).eval()
    x = torch.randn(2, 6, WIDTH)
    want = MultiheadAttention.from_module(module)(x, x, x, need_weights=False)[0]
    other = copy.deepcopy(module)
    other.in_proj_weight = torch.nn.Parameter(late(module.in_proj_weight.data))
    ours, y = MultiheadAttention.from_module(other), late(x)
    assert torch.equal(ours(y, y, y, need_weights=False)[0], want)


@torch.inference_mode()
def test_whole_layers_of_a_model():
    transformers = pytest.importorskip("transformers")
    from headroom.torch import accelerate, register_transformers

    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=4,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    tokens = torch.randint(3, 50, (2, 7))
    with accelerate(model):
        want = model(tokens).logits
    for layer in model.model.layers:
        weight = layer.self_attn.k_proj.weight
        layer.self_attn.k_proj.weight = torch.nn.Parameter(late(weight.data), requires_grad=False)
    with accelerate(model):
        assert torch.equal(model(tokens).logits, want)
    call = transformers.AttentionInterface._global_mapping[register_transformers()]
    q, module = torch.randn(1, 4, 6, 8), model.model.layers[0].self_attn
    got = call(module, late(q), late(q), late(q), None)[0]
    assert torch.equal(got, call(module, q, q, q, None)[0])
