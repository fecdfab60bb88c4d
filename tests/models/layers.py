"""How a family is described, and what the families have in common."""

import dataclasses
from collections.abc import Callable

# Every feature, and what it is where a layer does not have it.
PLAIN = {
    "heads": None, "kv_heads": None, "head_dim": None, "value_dim": None, "scale": None,
    "causal": True, "cross": False, "window": None, "window_both": False, "chunk": None,
    "qk_norm": "none", "norm_plus_one": False, "norm_eps": None, "norm_after_rotation": False,
    "rotary_dim": 0, "rotary_start": 0, "rotary_interleaved": False, "rope_type": "none",
    "rope_base": None, "rope_params": None, "attention_factor": 1.0, "inv_freq": None,
    "temperature": None, "clip_qkv": None, "softcap": None, "sinks": False, "gate": False,
    "alibi": None, "buckets": None, "mla": None, "biases": "",
}  # fmt: skip


@dataclasses.dataclass
class Projection:
    """A linear layer. Its outputs are `groups` times the `parts` (name, size), one after the other;
    a part's values of all groups together, in order, are that part."""

    name: str
    parts: list
    groups: int = 1
    input: str = "x"


@dataclasses.dataclass
class Layer:
    index: int
    kind: str
    path: str
    features: dict
    projections: list
    output: str | None = "o_proj"  # within the module, or ...
    output_path: str | None = None  # ... the whole path of a module outside
    vectors: dict = dataclasses.field(default_factory=dict)
    elsewhere: dict = dataclasses.field(default_factory=dict)
    tokens: int = 18
    memory_tokens: int = 11
    name: str | None = None


@dataclasses.dataclass
class Family:
    name: str
    folder: str
    published: dict
    layers: Callable
    auto: str = "AutoModelForCausalLM"
    gain: float = 1.4
    implementation: str = "eager"

    @property
    def model_type(self):
        return self.published["model_type"]


def features(**given):
    unknown = set(given) - set(PLAIN)
    assert not unknown, unknown
    return {**PLAIN, **given}


def rope_of(model, kind=None):
    """What the model's rotary module has computed; `kind` where there is one set for each."""
    rotary = next(m for n, m in model.named_modules() if n.endswith("rotary_emb"))
    params = dict(model.config.rope_parameters)
    params = dict(params[kind]) if kind in params else params
    prefix = f"{kind}_" if hasattr(rotary, f"{kind}_inv_freq") else ""
    inv_freq = getattr(rotary, prefix + "inv_freq").tolist()
    return {
        "rope_type": params.pop("rope_type"), "rope_base": params.pop("rope_theta"),
        "rope_params": params, "rotary_dim": 2 * len(inv_freq), "inv_freq": inv_freq,
        "attention_factor": float(getattr(rotary, prefix + "attention_scaling")),
    }  # fmt: skip


def separate(config, head_dim, names=("q_proj", "k_proj", "v_proj")):
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    counts = zip(names, "qkv", (heads, kv_heads, kv_heads))
    return [Projection(name, [[part, count * head_dim]]) for name, part, count in counts]


def biases_of(module, names):
    """Which of q, k, v, o add a bias."""
    has = [getattr(module, name).bias is not None for name in names]
    return "".join(letter for letter, one in zip("qkvo", has) if one)


HEAD_NORMS = {"q_norm": "q_norm.weight", "k_norm": "k_norm.weight"}


def decoder(model, index, kind, *, rope=None, vectors=None, tokens=18, name=None, **more):
    """A layer like Llama's, and what is different in it."""
    config, path = model.config, f"model.layers.{index}.self_attn"
    module = model.get_submodule(path)
    size = more.pop("head_dim", None) or module.head_dim
    names = ("q_proj", "k_proj", "v_proj", "o_proj")
    base = {
        "heads": config.num_attention_heads, "kv_heads": config.num_key_value_heads,
        "head_dim": size, "value_dim": size, "scale": size**-0.5,
        **(rope_of(model) if rope is None else rope),
    }  # fmt: skip
    if hasattr(module, "k_proj"):
        base["biases"] = biases_of(module, names)
    projections = more.pop("projections", None) or separate(config, size)
    return Layer(index, kind, path, features(**{**base, **more}), projections,
                 vectors=vectors or {}, tokens=tokens, name=name)  # fmt: skip


def sizes(**more):
    """What all the small decoders have in common."""
    return {
        "vocab_size": 99, "hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32", **more,
    }  # fmt: skip
