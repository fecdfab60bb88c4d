"""Modules of PyTorch, answered by the layer."""

import copy
import pickle
import random

import pytest

torch = pytest.importorskip("torch")

import headroom  # noqa: E402
from headroom import Attention  # noqa: E402
from headroom.torch import (  # noqa: E402
    FallbackWarning,
    MultiheadAttention,
    TextbookAttention,  # noqa: E402
)
from torch import nn  # noqa: E402

import reference  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nothing_said")]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(11)


def module_of(heads=4, width=64, **options):
    module = nn.MultiheadAttention(width, heads, **{"batch_first": True, **options}).eval()
    for parameter in module.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    return module


def causal_mask(tokens, as_float=False):
    mask = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    return torch.zeros(tokens, tokens).masked_fill(mask, float("-inf")) if as_float else mask


def double(tensor):
    return tensor.double() if tensor is not None and tensor.is_floating_point() else tensor


def expected(module, query, key, **masks):
    """What PyTorch computes in float64."""
    exact = copy.deepcopy(module).double()
    q = double(query)
    k = q if key is query else double(key)
    masks = {name: double(mask) if torch.is_tensor(mask) else mask for name, mask in masks.items()}
    return exact(q, k, k, need_weights=False, **masks)[0]


class Drawn:
    """A random module and a call of it."""

    def __init__(self, seed):
        draw = random.Random(seed)
        torch.manual_seed(seed)
        heads = draw.choice([1, 2, 3, 5, 8, 12, 16, 24, 48, 96])
        width = heads * draw.choice([1, 2, 4, 8, 16])
        self.cross = draw.random() < 0.3
        other = draw.choice([None, width // 2 + 1]) if self.cross else None
        first = draw.random() < 0.5
        bias = draw.random() < 0.5
        self.module = module_of(heads, width, bias=bias, batch_first=first, kdim=other, vdim=other)
        batch, tokens = draw.choice([1, 2, 5]), draw.choice([1, 2, 7, 33])
        keys = draw.choice([1, 4, 19]) if self.cross else tokens
        query = torch.randn(batch, tokens, width)
        key = torch.randn(batch, keys, other or width) if self.cross else query
        self.masks = {}
        as_float = draw.random() < 0.3
        if draw.random() < 0.5:
            # Lengths, or keys anywhere; with a causal mask the layer does lengths alone.
            counts = torch.randint(1, keys + 1, (batch, 1))
            hidden = torch.arange(keys) >= counts
            self.causal = not self.cross and draw.random() < 0.5
            if not self.causal and draw.random() < 0.5:
                hidden = hidden[:, torch.randperm(keys)]
            padding = (
                torch.zeros(batch, keys).masked_fill(hidden, float("-inf")) if as_float else hidden
            )
            self.masks["key_padding_mask"] = padding
        else:
            self.causal = not self.cross and draw.random() < 0.5
        if self.causal:
            self.masks["attn_mask"] = causal_mask(tokens, as_float)
            self.masks["is_causal"] = draw.random() < 0.5
        if batch == 1 and draw.random() < 0.5:
            query, key = query[0], key[0] if self.cross else query[0]
            if "key_padding_mask" in self.masks:
                self.masks["key_padding_mask"] = self.masks["key_padding_mask"][0]
        elif not first:
            query, key = query.transpose(0, 1), key.transpose(0, 1)
        self.query, self.key = query, key if self.cross else query


@pytest.mark.parametrize("seed", range(200))
@torch.inference_mode()
def test_answers_as_the_module(seed):
    """A call that went to the original would be an error here: a warning."""
    drawn = Drawn(seed)
    ours = MultiheadAttention.from_module(drawn.module)
    y, weights = ours(drawn.query, drawn.key, drawn.key, need_weights=False, **drawn.masks)
    want = expected(drawn.module, drawn.query, drawn.key, **drawn.masks)
    assert weights is None and y.dtype == torch.float32
    assert reference.close(y, want)


@torch.inference_mode()
def test_growing_inputs_and_small_ones_again():
    module = module_of()
    ours = MultiheadAttention.from_module(module)
    for batch, tokens in [(1, 3), (2, 3), (2, 70), (9, 1), (1, 3), (3, 70)]:
        x = torch.randn(batch, tokens, 64)
        y, _ = ours(x, x, x, need_weights=False)
        assert reference.close(y, expected(module, x, x))
        memory = torch.randn(batch, 2 * tokens, 64)
        y, _ = ours(x, memory, memory, need_weights=False)
        assert reference.close(y, expected(module, x, memory))


FALLBACKS = {
    "weights": (dict(), dict(need_weights=True), "need_weights=False"),
    "left_padding": (
        dict(),
        dict(attn_mask=causal_mask(6), key_padding_mask=torch.arange(6).expand(2, 6) < 1),
        "sees no key",
    ),
    "nan": (dict(), dict(attn_mask=torch.full((6, 6), torch.nan)), "sees no key"),
    "bias_kv": (dict(add_bias_kv=True), dict(), "add_bias_kv"),
    "zero": (dict(add_zero_attn=True), dict(), "add_zero_attn"),
}


WINDOW = torch.ones(6, 6).bool().triu(1) | torch.ones(6, 6).bool().tril(-3)
OTHER_MASKS = {
    "window": dict(attn_mask=WINDOW),
    "scores": dict(attn_mask=torch.randn(6, 6)),
    "each_head": dict(attn_mask=causal_mask(6).expand(8, 6, 6)),
    "each_score": dict(attn_mask=torch.randn(8, 6, 6)),
    "keys_between": dict(
        attn_mask=causal_mask(6), key_padding_mask=torch.tensor([[0, 1, 0, 0, 1, 0]] * 2).bool()
    ),
    "weighed_keys": dict(key_padding_mask=torch.randn(2, 6)),
    "both_weighed": dict(attn_mask=torch.randn(6, 6), key_padding_mask=torch.randn(2, 6)),
    "of_each_kind": dict(
        attn_mask=torch.randn(8, 6, 6), key_padding_mask=torch.arange(6).expand(2, 6) > 3
    ),
}


@pytest.mark.filterwarnings("ignore:.*mismatched.*:UserWarning")
@pytest.mark.parametrize("case", OTHER_MASKS)
@torch.inference_mode()
def test_any_other_mask(case):
    """A call that went to the original would be an error here: a warning."""
    module = module_of()
    ours = MultiheadAttention.from_module(module)
    x, memory = torch.randn(2, 6, 64), torch.randn(2, 6, 64)
    for key in (x, memory):
        y, _ = ours(x, key, key, need_weights=False, **OTHER_MASKS[case])
        assert reference.close(y, expected(module, x, key, **OTHER_MASKS[case]))


@pytest.mark.filterwarnings("ignore:.*mismatched.*:UserWarning")
@pytest.mark.parametrize("case", FALLBACKS)
@torch.inference_mode()
def test_what_the_layer_does_not_do_goes_to_the_original_and_is_said_once(case):
    of_module, of_call, text = FALLBACKS[case]
    module = module_of(**of_module)
    ours = MultiheadAttention.from_module(module)
    x = torch.randn(2, 6, 64)
    call = {"need_weights": False, **of_call}
    with pytest.warns(FallbackWarning, match=text):
        y, weights = ours(x, x, x, **call)
    want, want_weights = module(x, x, x, **call)
    torch.testing.assert_close(y, want, rtol=0, atol=0, equal_nan=True)
    assert (weights is None) == (want_weights is None)
    if weights is not None:
        assert torch.equal(weights, want_weights)
    again, _ = ours(x, x, x, **call)  # a second warning would be an error
    torch.testing.assert_close(again, want, rtol=0, atol=0, equal_nan=True)


def test_gradients_go_to_the_original():
    module = module_of()
    ours = MultiheadAttention.from_module(module)
    x = torch.randn(2, 6, 64)
    with pytest.warns(FallbackWarning, match="gradients"):
        y, _ = ours(x, x, x, need_weights=False)
    y.sum().backward()
    assert module.in_proj_weight.grad is not None


@torch.inference_mode()
def test_other_dtypes_and_values_go_to_the_original():
    x = torch.randn(2, 6, 64)
    exact = x.double()
    with pytest.warns(FallbackWarning, match="float32"):
        ours = MultiheadAttention.from_module(module_of().double())
        y, _ = ours(exact, exact, exact, need_weights=False)
    assert y.dtype == torch.float64
    half = x.bfloat16()
    with pytest.warns(FallbackWarning, match="one dtype, float32, on"):
        ours = MultiheadAttention.from_module(module_of().bfloat16(), backend="autovec")
        ours(half, half, half, need_weights=False)
    ours = MultiheadAttention.from_module(module_of())
    with pytest.warns(FallbackWarning, match="key and value"):
        ours(x, x, torch.randn(2, 6, 64), need_weights=False)


@torch.inference_mode()
def test_a_module_of_bfloat16():
    ours = MultiheadAttention.from_module(module_of())
    x, memory = torch.randn(2, 6, 64), torch.randn(2, 9, 64)
    ours(x, x, x, need_weights=False)
    ours.bfloat16()
    x, memory = x.bfloat16(), memory.bfloat16()
    padding = torch.arange(6).expand(2, 6) >= torch.tensor([[6], [4]])
    causal = {"attn_mask": causal_mask(6), "is_causal": True}
    for key, masks in ((x, {}), (x, causal), (x, {"key_padding_mask": padding}), (memory, {})):
        y, _ = ours(x, key, key, need_weights=False, **masks)
        want = expected(ours.original, x, key, **masks)
        assert y.dtype == torch.bfloat16
        assert (y.double() - want).abs().max() < 0.01 * want.abs().max(), masks
    graph = torch.compile(ours, fullgraph=True, backend="aot_eager")
    assert torch.equal(graph(x, memory, memory, need_weights=False)[0], y)


@torch.inference_mode()
def test_a_mask_changed_in_place_is_read_again():
    with torch.inference_mode(False):
        mask = causal_mask(6)
    module, x = module_of(), torch.randn(2, 6, 64)
    ours = MultiheadAttention.from_module(module)
    for _ in range(2):
        y, _ = ours(x, x, x, need_weights=False, attn_mask=mask)
        assert reference.close(y, expected(module, x, x, attn_mask=mask))
    mask.fill_(False)
    y, _ = ours(x, x, x, need_weights=False, attn_mask=mask)
    assert reference.close(y, expected(module, x, x))


def no_grad_answer(module, x):
    with torch.no_grad():
        return module(x, x, x, need_weights=False)[0]


def test_new_weights_are_packed_again():
    module, x = module_of(), torch.randn(2, 6, 64)
    ours = MultiheadAttention.from_module(module)
    no_grad_answer(ours, x)
    other = module_of()
    ours.load_state_dict(MultiheadAttention.from_module(other).state_dict())
    assert reference.close(no_grad_answer(ours, x), expected(other, x, x).detach())
    with torch.no_grad():
        module.out_proj.weight.mul_(2)
    ours.repack()
    assert reference.close(no_grad_answer(ours, x), expected(module, x, x).detach())


def test_copies_and_pickles_answer_alike():
    ours, x = MultiheadAttention.from_module(module_of()), torch.randn(2, 6, 64)
    y = no_grad_answer(ours, x)
    assert torch.equal(no_grad_answer(copy.deepcopy(ours), x), y)
    assert torch.equal(no_grad_answer(pickle.loads(pickle.dumps(ours)), x), y)


def test_inside_an_encoder_layer():
    """The encoder layer calls it, rather than computing the attention itself."""
    layer = nn.TransformerEncoderLayer(64, 4, batch_first=True).eval()
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x, padding = torch.randn(2, 6, 64), torch.arange(6).expand(2, 6) >= torch.tensor([[6], [4]])
    with torch.inference_mode():
        want = copy.deepcopy(encoder).double()(x.double(), src_key_padding_mask=padding)
        for one in encoder.layers:
            one.self_attn = MultiheadAttention.from_module(one.self_attn)
        y = encoder(x, src_key_padding_mask=padding)
        assert encoder.layers[0].self_attn._layers.made
    assert (y - want).abs().max() < 1e-5


@torch.inference_mode()
def test_threads_at_once(in_threads):
    module = module_of()
    ours = MultiheadAttention.from_module(module)
    xs = [torch.randn(1, 1 + 9 * i, 64) for i in range(6)]
    want = [expected(module, x, x) for x in xs]
    wrong = []

    def call(i):
        with torch.inference_mode():
            for _ in range(20):
                if not reference.close(ours(xs[i], xs[i], xs[i], need_weights=False)[0], want[i]):
                    wrong.append(i)

    in_threads(call, 6)
    assert not wrong


class Clearing(int):
    """A number of rows; comparing it is the moment at which another thread packs again."""

    def __le__(self, size):
        self.layers.clear()
        return int(self) <= size


def test_weights_packed_again_while_a_layer_is_looked_up():
    ours, x = MultiheadAttention.from_module(module_of()), torch.randn(2, 6, 64)
    no_grad_answer(ours, x)
    layers = ours._layers
    rows = [Clearing(12), Clearing(6)]
    for one in rows:
        one.layers = layers
    assert isinstance(layers.get("full", ours.weights, rows), Attention)
    assert not layers.made


# Tensors in the plain layer.


@torch.inference_mode()
def test_a_layer_takes_tensors():
    parts = {name: torch.randn(32, 32) / 6 for name in ("query", "key", "value", "output")}
    layer = Attention(**parts, heads=4, tokens=6, batch=2)
    x = torch.randn(2, 6, 32)
    y = layer(x)
    assert isinstance(y, torch.Tensor) and (y.numpy() == layer(x.numpy())).all()
    out = torch.empty(2, 6, 32)
    assert layer(x, out) is out and torch.equal(out, y)


def test_tensors_that_a_layer_refuses():
    layer = Attention(*(torch.eye(32) for _ in range(3)), heads=4, tokens=6)
    x = torch.randn(6, 32)
    with pytest.raises(TypeError, match="detach"):
        layer(x.clone().requires_grad_())
    with torch.no_grad():
        assert torch.equal(layer(x.clone().requires_grad_()), layer(x))
    with pytest.raises(ValueError, match="bf16"):
        layer(x.bfloat16())
    with pytest.raises(ValueError, match="evenly apart|next to each other"):
        layer(x.T.contiguous().T)
    with pytest.raises((TypeError, ValueError)):
        layer(torch.empty(6, 32, device="meta"))
    with pytest.raises((TypeError, ValueError)):
        layer(x.to_sparse())


def test_a_tensor_whose_memory_was_given_back():
    layer = Attention(*(torch.eye(32) for _ in range(3)), heads=4, tokens=6)
    x = torch.randn(6, 32)
    x.untyped_storage().resize_(0)
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        layer(x)


# The textbook's module.


class Textbook(nn.Module):
    """Query, key, value and output as products; a mask; heads as views."""

    def __init__(self, d_in, d_out, context, heads, qkv_bias=False, dropout=0.0, masked=True):
        super().__init__()
        self.num_heads, self.head_dim, self.d_out = heads, d_out // heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        if masked:
            self.register_buffer("mask", torch.triu(torch.ones(context, context), diagonal=1))

    def forward(self, x):
        batch, tokens, _ = x.shape

        def heads(product):
            return product(x).view(batch, tokens, self.num_heads, -1).transpose(1, 2)

        q, k, v = heads(self.W_query), heads(self.W_key), heads(self.W_value)
        scores = q @ k.transpose(2, 3) / self.head_dim**0.5
        if hasattr(self, "mask"):
            scores = scores.masked_fill(self.mask.bool()[:tokens, :tokens], -torch.inf)
        context = self.dropout(torch.softmax(scores, dim=-1)) @ v
        return self.out_proj(context.transpose(1, 2).reshape(batch, tokens, self.d_out))


class OneHead(nn.Module):
    def __init__(self, d_in, d_out, context):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.register_buffer("mask", torch.triu(torch.ones(context, context), diagonal=1))

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        tokens = x.shape[1]
        scores = (q @ k.transpose(1, 2)).masked_fill(self.mask.bool()[:tokens, :tokens], -torch.inf)
        return torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1) @ v


class Wrapper(nn.Module):
    def __init__(self, d_in, d_out, context, heads):
        super().__init__()
        self.heads = nn.ModuleList([OneHead(d_in, d_out, context) for _ in range(heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@pytest.mark.parametrize("bias", [False, True])
@torch.inference_mode()
def test_the_textbook_module(bias):
    module = Textbook(24, 32, 12, heads=4, qkv_bias=bias).eval()
    ours = MultiheadAttention.from_module(module)
    assert isinstance(ours, TextbookAttention)
    for tokens in (3, 12):
        x = torch.randn(2, tokens, 24)
        assert reference.close(ours(x), copy.deepcopy(module).double()(x.double()))


@torch.inference_mode()
def test_the_textbook_wrapper_of_heads():
    module = Wrapper(24, 8, 12, heads=3).eval()
    ours = MultiheadAttention.from_module(module, backend="xsimd")
    x = torch.randn(2, 7, 24)
    assert reference.close(ours(x), copy.deepcopy(module).double()(x.double()))
    y, x = ours.bfloat16()(x.bfloat16()), x.bfloat16().double()
    assert y.dtype == torch.bfloat16
    assert (y.double() - copy.deepcopy(ours.original).double()(x)).abs().max() < 0.01


@torch.inference_mode()
def test_a_textbook_module_without_a_mask():
    module = Textbook(32, 32, 12, heads=4, masked=False).eval()
    with pytest.raises(ValueError, match="causal=True or causal=False"):
        MultiheadAttention.from_module(module)
    x = torch.randn(2, 7, 32)
    ours = MultiheadAttention.from_module(module, causal=False)
    assert reference.close(ours(x), copy.deepcopy(module).double()(x.double()))


@torch.inference_mode()
def test_a_textbook_module_while_it_trains():
    module = Textbook(32, 32, 12, heads=4, dropout=0.5).train()
    ours, x = MultiheadAttention.from_module(module), torch.randn(2, 7, 32)
    with pytest.warns(FallbackWarning, match="dropout"):
        ours(x)
    assert reference.close(ours.eval()(x), copy.deepcopy(module).eval().double()(x.double()))


def test_other_modules_are_refused():
    with pytest.raises(TypeError, match="Linear"):
        MultiheadAttention.from_module(nn.Linear(2, 2))
    odd = Textbook(32, 32, 12, heads=4)
    odd.mask[0, 5] = 0
    with pytest.raises(ValueError, match="mask"):
        MultiheadAttention.from_module(odd)


# Compiled, without a break.


@pytest.fixture
def compiled():
    torch._dynamo.reset()
    return lambda module: torch.compile(module, fullgraph=True, backend="aot_eager")


CALLS = {
    "plain": dict(),
    "causal": dict(attn_mask=causal_mask(6), is_causal=True),
    "unsaid": dict(attn_mask=causal_mask(6)),
    "padding": dict(key_padding_mask=torch.arange(6).expand(2, 6) >= torch.tensor([[6], [4]])),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("batch_first", [True, False])
@torch.inference_mode()
def test_compiles_in_one_graph(compiled, call, batch_first):
    module = module_of(batch_first=batch_first)
    ours = MultiheadAttention.from_module(module)
    x = torch.randn(2, 6, 64)
    x = x if batch_first else x.transpose(0, 1)
    y, _ = compiled(ours)(x, x, x, need_weights=False, **CALLS[call])
    assert reference.close(y, expected(module, x, x, **CALLS[call]))
    assert ours._layers.made


@torch.inference_mode()
def test_compiles_cross_attention_and_the_original(compiled):
    module = module_of()
    graph = compiled(MultiheadAttention.from_module(module))
    x, memory = torch.randn(2, 6, 64), torch.randn(2, 9, 64)
    y, _ = graph(x, memory, memory, need_weights=False)
    assert reference.close(y, expected(module, x, memory))
    with pytest.warns(FallbackWarning, match="attention weights"):
        y, weights = graph(x, x, x)
    assert reference.close(y, expected(module, x, x)) and weights.shape == (2, 6, 6)


@torch.inference_mode()
def test_compiles_the_textbook_module(compiled):
    module = Textbook(32, 32, 12, heads=4).eval()
    x = torch.randn(2, 7, 32)
    y = compiled(MultiheadAttention.from_module(module))(x)
    assert reference.close(y, copy.deepcopy(module).double()(x.double()))


def test_the_operator_keeps_its_promises():
    """Its fake tells shapes and strides as they come."""
    module = module_of()
    ours = MultiheadAttention.from_module(module)
    x = torch.randn(2, 6, 64)
    arguments = (x, None, None, None, ours._handle, False)
    torch.library.opcheck(
        torch.ops.headroom.attention, arguments, test_utils=("test_schema", "test_faketensor")
    )


def test_a_module_is_made_from_another():
    with pytest.raises(TypeError, match="MultiheadAttention.from_module"):
        MultiheadAttention(768, 12)
    with pytest.raises(TypeError, match="MultiheadAttention.from_module"):
        MultiheadAttention(embed_dim=768, num_heads=12)


def test_another_device_is_named():
    q = torch.empty(1, 2, 4, 8, device="meta")
    with pytest.raises(ValueError, match=r"query lies on meta; .* query\.cpu\(\)"):
        headroom.attention(q, q, q)
