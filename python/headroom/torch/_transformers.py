"""An attention implementation for the models of ``transformers``."""

import atexit
from typing import Any, Dict, Optional, Tuple

import torch
from torch import Tensor

from .._arrays import as_array
from .._attend import Kernels, Rule, heads_of, reads_bf16
from ._models import additive_mask, check_models, own_way, refuse_config
from ._packed import say_once

_kernels: Dict[str, Dict[torch.dtype, Kernels]] = {}
# transformers keeps what is registered longer than the interpreter keeps the extension module.
atexit.register(_kernels.clear)


def attend(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    causal: bool,
    scale: float,
    mask: Optional[Tensor],
) -> Tensor:
    """Of ``(batch, heads, tokens, head_dim)``, by the implementation that was registered under this
    name; the result has tokens before heads, as ``transformers`` wants it."""
    q, k, v = heads_of("query", query), heads_of("key", key), heads_of("value", value)
    out = torch.empty(q.shape, dtype=query.dtype)
    seen = None if mask is None else as_array(mask)
    kernels = _kernels[name][query.dtype].get(q, k, Rule(causal, 0, scale))
    kernels.run(q, k, v, as_array(out), seen, None, None, None)
    return out


# What a compiled graph calls.
attend_operator = torch.library.custom_op("headroom::attend", mutates_args=())(attend)


@attend_operator.register_fake
def _(name: str, query: Tensor, *others: Any) -> Tensor:
    return query.new_empty(query.transpose(1, 2).shape)


def _fits(mask: Tensor, query: Tensor, key: Tensor) -> bool:
    """Whether the kernels take a mask for ``(batch, heads, tokens, head_dim)``."""
    sizes = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    return (
        mask.dtype in (torch.bool, torch.float32, torch.bfloat16)
        and mask.device.type == "cpu"
        and mask.dim() == 4
        and all(one in (1, size) for one, size in zip(mask.shape, sizes))
    )


def _why_not(
    name: str,
    tensors: Tuple[Tensor, Tensor, Tensor],
    mask: Optional[Tensor],
    scaling: Optional[float],
    causal: bool,
) -> Optional[str]:
    query, key, value = tensors
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
        return "gradients may be asked for"
    if any(one.dtype != query.dtype or one.device.type != "cpu" for one in tensors):
        return "the layer takes tensors of one dtype on the CPU"
    if query.dtype not in _kernels[name]:
        allowed = " and ".join(str(dtype).removeprefix("torch.") for dtype in _kernels[name])
        return f"the layer takes {allowed}"
    if mask is not None and not _fits(mask, query, key):
        return "the mask is of another shape or dtype than those that the layer takes"
    if causal and query.shape[2] != key.shape[2]:
        return "several tokens come after others of the cache, without a mask"
    if scaling is not None and not scaling > 0:
        return "scores are scaled by a number that is not above 0"
    if key.shape != value.shape or 0 in query.shape or 0 in key.shape:
        return "heads of keys and values differ, or nothing came"
    return None


def register_transformers(name: str = "headroom", **options: Any) -> str:
    """Makes the attention known to ``transformers``: ``attn_implementation="headroom"``.

    It computes prefill, decoding with a cache and attention under masks, of float32 and bfloat16
    models on the CPU. Other dtypes, gradients and dropout go to ``"sdpa"``; a model that adds to
    its attention, such as sinks or a bias of positions, computes it by its own eager function. A
    ``FallbackWarning`` says why once. The products of the layer stay those of the model.

    Args:
        name: of the implementation
        options: of ``headroom.Attention``: ``backend``, ``threads``, ``isa``, ``kernels`` ...
            With ``precision="bf16"`` products are of bfloat16, as those of PyTorch are for models
            of it; else they are of float32.

    Returns:
        The name.

    Raises:
        ImportError: ``transformers`` is not installed, or older than 4.53.

    A model is refused with a ValueError, when it is loaded or first called, if it would lose a
    part of its attention: if it computes attention without asking for an implementation, or hands
    over an argument that is not known here.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def forward(
        module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Optional[Tensor],
        dropout: float = 0.0,
        scaling: Optional[float] = None,
        is_causal: Optional[bool] = None,
        **others: Any,
    ) -> Any:
        decoder = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
        causal = decoder and query.shape[2] > 1 and attention_mask is None
        own = own_way(module, others)
        if own is not None:
            say_once(f"{type(module).__name__} asks for {own[0]}; its own function takes the call")
            mask = additive_mask(attention_mask, query, key.shape[2], decoder)
            if scaling is not None:
                others["scaling"] = scaling
            return own[1](module, query, key, value, mask, dropout=dropout, **others)
        reason = _why_not(name, (query, key, value), attention_mask, scaling, causal)
        if dropout > 0:
            reason = "attention weights are dropped"
        if reason is not None:
            say_once(f"{reason}; sdpa takes the call")
            return sdpa_attention_forward(
                module,
                query,
                key,
                value,
                attention_mask,
                dropout=dropout,
                scaling=scaling,
                is_causal=is_causal,
                **others,
            )
        compute = attend_operator if torch.compiler.is_compiling() else attend
        return compute(name, query, key, value, causal, scaling or 0.0, attention_mask), None

    def mask(*sizes: Any, **arguments: Any) -> Any:
        if not torch.compiler.is_compiling():
            refuse_config(arguments.get("config"), name)
        return sdpa_mask(*sizes, **arguments)

    _kernels[name] = {torch.float32: Kernels(options)}
    if reads_bf16(options):
        _kernels[name][torch.bfloat16] = Kernels({**options, "dtype": "bf16"})
    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, mask)
    check_models(name)
    return name
