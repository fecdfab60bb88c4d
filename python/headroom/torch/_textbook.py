"""The module that textbooks build: three products, a mask, heads as views, an output product."""

from typing import TYPE_CHECKING, Any, List, Optional

import torch
from torch import Tensor, nn

from . import _operator
from ._forwards import TRACED, is_traced, own_forward
from ._masks import Masks
from ._packed import (
    TRAINING,
    PackedModule,
    Weights,
    say_once,
    why_gradients,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._config import LayerOptions

_PRODUCTS = ("W_query", "W_key", "W_value")


def _has_products(module: nn.Module) -> bool:
    return all(isinstance(getattr(module, name, None), nn.Linear) for name in _PRODUCTS)


def _heads_of(module: nn.Module) -> List[nn.Module]:
    heads = getattr(module, "heads", None)
    return list(heads) if isinstance(heads, nn.ModuleList) else []


def is_textbook(module: nn.Module) -> bool:
    """One module for all heads, or a list of one for each."""
    if _has_products(module):
        return hasattr(module, "num_heads") or hasattr(module, "mask")
    heads = _heads_of(module)
    return bool(heads) and all(_has_products(head) for head in heads)


def _is_causal(module: nn.Module, given: Optional[bool]) -> bool:
    mask = getattr(module, "mask", None)
    if not isinstance(mask, Tensor):
        if given is None:
            raise ValueError("the module has no buffer mask; say causal=True or causal=False")
        return given
    if not bool((mask.bool() == torch.ones_like(mask).triu(1).bool()).all()):
        raise ValueError("the module's mask hides other keys than those after a token")
    return True if given is None else given


def _check_products(original: nn.Module, parts: List[nn.Module]) -> None:
    """Raises:
    TypeError: one of them computes something else than a product.
    """
    named = [(name, getattr(part, name)) for part in parts for name in _PRODUCTS]
    if getattr(original, "out_proj", None) is not None:
        named.append(("out_proj", original.out_proj))
    for name, linear in named:
        if not isinstance(linear, nn.Linear):
            raise TypeError(f"{name} is a {type(linear).__name__}; allowed is nn.Linear")
        own = own_forward(linear)
        if own is not None:
            raise TypeError(f"{name} {own}, which the layer would leave out; allowed is nn.Linear")


def _joined(parts: List[Optional[Tensor]]) -> Optional[Tensor]:
    present = [part for part in parts if part is not None]
    return torch.cat(present) if present else None


class TextbookAttention(PackedModule):
    """Answers as the textbook module that it was made from: ``(batch, tokens, d_in)`` in.

    Made by ``MultiheadAttention.from_module``. Gradients, dropout while training, other dtypes and
    devices go to the original module, and a ``FallbackWarning`` says why once.
    """

    @staticmethod
    def from_module(
        module: nn.Module, *, causal: Optional[bool] = None, **options: "Unpack[LayerOptions]"
    ) -> "TextbookAttention":
        """As ``MultiheadAttention.from_module``."""
        return TextbookAttention(module, causal, options)

    def __init__(self, original: nn.Module, causal: Optional[bool], options: Any) -> None:
        parts = _heads_of(original) or [original]
        _check_products(original, parts)
        heads = len(parts) if parts[0] is not original else int(getattr(original, "num_heads", 1))
        super().__init__(original, heads, options)
        self._kind = "causal" if _is_causal(parts[0], causal) else "full"

    def _parts(self) -> List[nn.Module]:
        return _heads_of(self.original) or [self.original]

    def weights(self) -> Weights:
        def product(name: str) -> List[nn.Linear]:
            return [getattr(part, name) for part in self._parts()]

        products = [product(name) for name in _PRODUCTS]
        matrices = [torch.cat([linear.weight for linear in one]) for one in products]
        biases = [_joined([linear.bias for linear in one]) for one in products]
        last = getattr(self.original, "out_proj", None)
        if last is None:
            return Weights(matrices, biases, None, None)
        return Weights(matrices, biases, last.weight, last.bias)

    def output_width(self) -> int:
        last = getattr(self.original, "out_proj", None)
        if last is not None:
            return int(last.out_features)
        return sum(int(part.W_query.out_features) for part in self._parts())  # type: ignore

    def _why_original(self, x: Tensor) -> Optional[str]:
        part: Any = self._parts()[0]
        first: Tensor = part.W_query.weight
        if is_traced():
            return TRACED
        reason = why_gradients(x, first)
        if reason is not None:
            return reason
        dropout = getattr(self._parts()[0], "dropout", None)
        if self.training and getattr(dropout, "p", 0) > 0:
            return TRAINING
        reason = self.why_not_dtype(x, first)
        if reason is not None:
            return reason
        if x.dim() != 3 or 0 in x.shape:
            return "the layer takes (batch, tokens, width); the original module takes the call"
        return None

    def forward(self, x: Tensor) -> Tensor:
        """``(batch, tokens, d_in)`` to ``(batch, tokens, d_out)``."""
        reason = self._why_original(x)
        if reason is not None:
            say_once(reason)
            return self.original(x)  # type: ignore[no-any-return]
        if torch.compiler.is_compiling():
            y: Tensor = _operator.attention(x, None, None, None, self._handle, False)
            return y
        return self.run(self._kind, x.contiguous())

    def compute(self, query: Tensor, memory: Optional[Tensor], masks: Masks) -> Tensor:
        return self.run(self._kind, query)
