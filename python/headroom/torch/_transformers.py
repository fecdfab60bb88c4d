"""An attention implementation for the models of ``transformers``."""

import atexit
import math
import threading
from typing import Any, Dict, Optional, Tuple

import torch
from torch import Tensor

from .. import _core
from .._layer import options_of
from . import _operator
from ._models import additive_mask, check_models, own_way, refuse_config
from ._packed import say_once


class Kernels:
    """Attention without products, for every number of heads and head width that came."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self.options = options_of(**options)
        self.made: Dict[Tuple[Any, ...], Tuple[_core.Attend, Tuple[int, int, int]]] = {}
        self.lock = threading.Lock()

    def get(self, query: Tensor, key: Tensor, causal: bool) -> _core.Attend:
        """For ``(batch, tokens, heads, head_dim)``; made anew, for more, if it is too small."""
        batch, tokens, heads, head_dim = query.shape
        kind = (heads, key.shape[2], head_dim, causal)
        sizes = (batch, tokens, key.shape[1])
        with self.lock:
            attend, most = self.made.get(kind, (None, (0, 0, 0)))
            if attend is None or any(need > size for need, size in zip(sizes, most)):
                grown = [max(a, 1 << (b - 1).bit_length()) for a, b in zip(most, sizes)]
                attend = self._make(kind, grown[0], grown[1], grown[2])
                self.made[kind] = (attend, (grown[0], grown[1], grown[2]))
            return attend

    def _make(self, kind: Tuple[Any, ...], batch: int, tokens: int, keys: int) -> _core.Attend:
        shape = _core.Shape()
        shape.batch, shape.tokens = batch, tokens
        shape.heads, shape.kv_heads, head_dim, shape.causal = kind
        shape.d_in = shape.d_out = shape.heads * head_dim
        if not shape.causal:
            shape.d_memory, shape.memory_tokens = shape.d_in, keys
        return _core.Attend.make(shape, self.options)


_kernels: Dict[str, Kernels] = {}
# transformers keeps what is registered longer than the interpreter keeps the extension module.
atexit.register(_kernels.clear)


def _strided(tensor: Tensor) -> Tensor:
    """With strides that the kernels follow, and copied only if it has others."""
    strides = tensor.stride()
    fits = strides[-1] == 1 and all(stride > 0 for stride in strides)
    return tensor if fits else tensor.contiguous()


def attend(name: str, query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    """``(batch, tokens, heads, head_dim)``, all four."""
    out = torch.empty(query.shape)
    query, key, value = (_strided(one.detach()) for one in (query, key, value))
    kernels = _kernels[name].get(query, key, causal)
    kernels.run(query.numpy(), key.numpy(), value.numpy(), out.numpy())
    return out


def _why_not(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    scaling: Optional[float],
    causal: bool,
) -> Optional[str]:
    tensors = (query, key, value)
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
        return "gradients may be asked for"
    if any(one.dtype != torch.float32 or one.device.type != "cpu" for one in tensors):
        return "the layer takes float32 on the CPU"
    if mask is not None:
        return "there is a mask other than the causal one, such as of padding"
    if causal and query.shape[2] != key.shape[2]:
        return "several tokens come after others of the cache"
    if scaling is not None and not math.isclose(scaling, query.shape[3] ** -0.5, rel_tol=1e-6):
        return "scores are scaled otherwise than by 1 / sqrt(head_dim)"
    if key.shape != value.shape or 0 in query.shape or 0 in key.shape:
        return "heads of keys and values differ, or nothing came"
    return None


def register_transformers(name: str = "headroom", **options: Any) -> str:
    """Makes the attention known to ``transformers``: ``attn_implementation="headroom"``.

    It computes causal prefill, decoding with a cache, and attention without a mask, of float32
    models on the CPU. Masks, scales, gradients and dropout go to ``"sdpa"``; a model that adds to
    its attention, such as sinks or a bias of positions, computes it by its own eager function. A
    ``FallbackWarning`` says why once. The products of the layer stay those of the model.

    Args:
        name: of the implementation
        options: of ``headroom.Attention``: ``backend``, ``threads``, ``isa``, ``kernels`` ...

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
        causal = decoder and query.shape[2] > 1
        own = own_way(module, others)
        if own is not None:
            say_once(f"{type(module).__name__} asks for {own[0]}; its own function takes the call")
            mask = additive_mask(attention_mask, query, key.shape[2], decoder)
            if scaling is not None:
                others["scaling"] = scaling
            return own[1](module, query, key, value, mask, dropout=dropout, **others)
        reason = _why_not(query, key, value, attention_mask, scaling, causal)
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
        rows = [one.transpose(1, 2) for one in (query, key, value)]
        if torch.compiler.is_compiling():
            return _operator.attend_operator(name, *rows, causal), None
        return attend(name, rows[0], rows[1], rows[2], causal), None

    def mask(*sizes: Any, **arguments: Any) -> Any:
        if not torch.compiler.is_compiling():
            refuse_config(arguments.get("config"), name)
        return sdpa_mask(*sizes, **arguments)

    _kernels[name] = Kernels(options)
    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, mask)
    check_models(name)
    return name
