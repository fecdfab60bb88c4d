"""``nn.MultiheadAttention``, answered by packed layers."""

from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from . import _operator
from ._forwards import TRACED, is_traced, own_forward
from ._masks import Masks, Padding, joined, kind_of, read_padding, shows_each_row_a_key
from ._packed import (
    TRAINING,
    PackedModule,
    Weights,
    say_once,
    why_gradients,
)
from ._textbook import TextbookAttention, is_textbook

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._config import LayerOptions

_MOST_SEQUENCES = 65536


class MultiheadAttention(PackedModule):
    """Answers as the ``nn.MultiheadAttention`` that it was made from.

    For inference: call it under ``torch.inference_mode()`` or ``torch.no_grad()``, and with
    ``need_weights=False``. What the layer does not do goes to the original module, and a
    ``FallbackWarning`` says why, once for each reason: attention weights, gradients, dropout while
    training, queries that see no key, other dtypes than float32 and bfloat16, other devices, key
    and value that differ, ``add_bias_kv`` and ``add_zero_attn``.
    """

    original: nn.MultiheadAttention
    # Encoder layers of PyTorch read this and, if it is true, compute the attention themselves.
    _qkv_same_embed_dim = False

    def __init__(self, *args: Any, **options: Any) -> None:
        if options or len(args) != 3 or not isinstance(args[0], nn.Module):
            raise TypeError(
                "MultiheadAttention wraps a module that there is: give it to"
                " MultiheadAttention.from_module, such as"
                " MultiheadAttention.from_module(nn.MultiheadAttention(768, 12, batch_first=True))"
            )
        super().__init__(*args)

    @staticmethod
    def from_module(
        module: nn.Module, *, causal: Optional[bool] = None, **options: "Unpack[LayerOptions]"
    ) -> Union["MultiheadAttention", TextbookAttention]:
        """Makes a module that answers as the given one.

        Args:
            module: an ``nn.MultiheadAttention``, or the textbook's module: ``W_query``, ``W_key``,
                ``W_value``, ``out_proj`` and ``num_heads``, or a list ``heads`` of modules with the
                first three
            causal: of a textbook module without a buffer ``mask``
            options: of ``headroom.Attention``: ``backend``, ``formulation``, ``threads``, ``isa``,
                ``kernels``, ``precision``, ``dtype``, ``tuning_file``. A module of bfloat16 is
                computed with products of float32; ``precision="bf16"`` is what PyTorch computes.

        Returns:
            A module with the same ``forward``, which packs the weights at its first call.

        Raises:
            TypeError: it is neither, or it or a product of it has a forward of its own or hooks.
            ValueError: its mask is not causal.
        """
        if isinstance(module, nn.MultiheadAttention):
            own = own_forward(module)
            if own is not None:
                raise TypeError(f"module {own}, which the layer would leave out")
            return MultiheadAttention(module, module.num_heads, options)
        if is_textbook(module):
            return TextbookAttention.from_module(module, causal=causal, **options)
        raise TypeError(
            f"module is a {type(module).__name__}; allowed are nn.MultiheadAttention and modules"
            " with W_query, W_key, W_value and out_proj"
        )

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("original"), name)

    def weights(self) -> Weights:
        m = self.original
        if m.in_proj_weight is not None:
            query, key, value = m.in_proj_weight.chunk(3)
        else:
            query, key, value = m.q_proj_weight, m.k_proj_weight, m.v_proj_weight
        biases: Any = (None, None, None) if m.in_proj_bias is None else m.in_proj_bias.chunk(3)
        return Weights((query, key, value), biases, m.out_proj.weight, m.out_proj.bias)

    def output_width(self) -> int:
        return int(self.original.embed_dim)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Optional[Tensor] = None,
        need_weights: bool = True,
        attn_mask: Optional[Tensor] = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        """As ``nn.MultiheadAttention.forward``."""
        masks = Masks(key_padding_mask, attn_mask, is_causal)
        reason = self._why_original(query, key, value, need_weights, masks)
        if reason is not None:
            say_once(reason)
            return self.original(  # type: ignore[no-any-return]
                query,
                key,
                value,
                key_padding_mask,
                need_weights,
                attn_mask,
                average_attn_weights,
                is_causal,
            )
        if query.is_nested:
            return self._nested(query), None
        memory = None if query is key else key
        return self._forward(query, memory, masks), None

    def _why_original(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        need_weights: bool,
        masks: Masks,
    ) -> Optional[str]:
        """What the layer does not do of this call, as far as it is known without the masks."""
        m = self.original
        if is_traced():
            return TRACED
        if need_weights:
            return (
                "attention weights are asked for, and the original module computes them; call it"
                " with need_weights=False"
            )
        reason = why_gradients(query, key, m.out_proj.weight)
        if reason is not None:
            return reason
        if key is not value:
            return "key and value are different tensors; the original module takes them"
        if m.bias_k is not None or m.add_zero_attn:
            return "the module adds keys of its own (add_bias_kv, add_zero_attn); it takes the call"
        if self.training and m.dropout > 0:
            return TRAINING
        if query is not key and masks.causal:
            return "cross-attention with a causal mask goes to the original module"
        if masks.causal and masks.attention is None:
            return "is_causal needs attn_mask; the original module says so"
        return self._why_not_shape(query, key, masks)

    def _why_not_shape(self, query: Tensor, key: Tensor, masks: Masks) -> Optional[str]:
        m = self.original
        sequences = query.is_nested and query is key and query.layout == torch.strided
        reason = self.why_not_dtype(query, key, m.out_proj.weight, nested=sequences)
        if reason is not None:
            return reason
        if query.is_nested:
            # As PyTorch's encoder makes them of padded batches.
            plain = m.batch_first and masks.padding is None and masks.attention is None
            fits = query.dim() == 3 and query.size(2) == m.embed_dim
            if not plain or not fits or not 0 < query.size(0) <= _MOST_SEQUENCES:
                return "nested tensors of another shape, or with masks, go to the original module"
            return None
        if query.dim() not in (2, 3) or key.dim() != query.dim() or 0 in query.shape:
            return "an input without rows goes to the original module"
        if query.shape[-1] != m.embed_dim or key.shape[-1] != m.kdim or m.kdim != m.vdim:
            return "widths differ (kdim, vdim); the original module takes the call"
        if query.dim() == 3 and query.shape[0 if m.batch_first else 1] > _MOST_SEQUENCES:
            return "there are more than 65536 sequences; the original module takes them"
        return None

    def _forward(self, query: Tensor, memory: Optional[Tensor], masks: Masks) -> Tensor:
        """Brings the tensors into (batch, tokens, width) and back."""
        batched, swapped = query.dim() == 3, not self.original.batch_first

        def rows(tensor: Tensor) -> Tensor:
            if not batched:
                return tensor.unsqueeze(0)
            return tensor.transpose(0, 1) if swapped else tensor

        x = rows(query)
        m = None if memory is None else rows(memory)
        if masks.padding is not None and not batched:
            masks = masks._replace(padding=masks.padding.unsqueeze(0))
        y: Tensor
        if torch.compiler.is_compiling():
            y = _operator.attention(
                x, m, masks.padding, masks.attention, self._handle, masks.causal
            )
        else:
            y = self.compute(x.contiguous(), None if m is None else m.contiguous(), masks)
        if not batched:
            return y.squeeze(0)
        return y.transpose(0, 1) if swapped else y

    def _nested(self, x: Tensor) -> Tensor:
        """Self-attention of sequences that have no padding."""
        parts = x.unbind()
        lengths = [len(part) for part in parts]
        y: Any = self.run_rows("full", torch.cat(parts), lengths)
        made: Tensor = torch.nested.as_nested_tensor(list(y.split(lengths)))
        return made

    def compute(self, query: Tensor, memory: Optional[Tensor], masks: Masks) -> Tensor:
        kind = "causal" if masks.causal else "none"
        if masks.attention is not None and not masks.causal:
            kind = kind_of(masks.attention)
        padding = None if masks.padding is None else read_padding(masks.padding)
        if padding is not None and 0 in padding.counts:
            say_once("a sequence without keys goes to the original module")
            return self._by_original(query, memory, masks)
        if _takes_a_mask(kind, memory, masks.padding, padding):
            return self._masked(query, memory, masks)
        if memory is not None:
            return self._cross(query, memory, padding)
        if kind == "causal":
            return self._causal(query, padding)
        if padding is None or not bool(padding.ignored.any()):
            return self.run("full", query)
        return self._cross(query, query, padding)

    def _masked(self, query: Tensor, memory: Optional[Tensor], masks: Masks) -> Tensor:
        batch, tokens = query.shape[0], query.shape[1]
        mask = joined(masks, batch)
        if not shows_each_row_a_key(mask):
            say_once("a query that sees no key goes to the original module")
            return self._by_original(query, memory, masks)
        if memory is None:
            return self.run("full", query, mask=mask)
        y = self.run_cross(
            query.reshape(batch * tokens, -1),
            memory.reshape(-1, memory.shape[2]),
            [tokens] * batch,
            [memory.shape[1]] * batch,
            mask,
        )
        return y.reshape(batch, tokens, -1)

    def _cross(self, query: Tensor, memory: Tensor, padding: Optional[Padding]) -> Tensor:
        batch, tokens = query.shape[0], query.shape[1]
        lengths: List[int] = [memory.shape[1]] * batch
        rows = memory.reshape(-1, memory.shape[2])
        if padding is not None:
            lengths = padding.counts
            # The order of keys does not matter, so that those in between may be left out too.
            rows = memory[~padding.ignored]
        y = self.run_cross(query.reshape(batch * tokens, -1), rows, [tokens] * batch, lengths)
        return y.reshape(batch, tokens, -1)

    def _causal(self, x: Tensor, padding: Optional[Padding]) -> Tensor:
        y = self.run("causal", x)
        if padding is not None and bool(padding.ignored.any()):
            # Only rows of padding look past the end of their sequence; they see all before it.
            ignored = padding.ignored
            rest = [x.shape[1] - count for count in padding.counts]
            y[ignored] = self.run_cross(x[ignored], x[~ignored], rest, padding.counts)
        return y

    def _by_original(self, query: Tensor, memory: Optional[Tensor], masks: Masks) -> Tensor:
        swapped = not self.original.batch_first
        x = query.transpose(0, 1) if swapped else query
        m = x if memory is None else memory.transpose(0, 1) if swapped else memory
        y, _ = self.original(
            x,
            m,
            m,
            masks.padding,
            need_weights=False,
            attn_mask=masks.attention,
            is_causal=masks.causal,
        )
        result: Tensor = y.transpose(0, 1) if swapped else y
        return result.contiguous()


def _takes_a_mask(
    kind: str,
    memory: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    padding: Optional[Padding],
) -> bool:
    """Whether lengths and the layer's own order do not say what the masks say."""
    if kind == "other" or (kind == "causal" and memory is not None):
        return True
    if key_padding_mask is None:
        return False
    return padding is None or (kind == "causal" and not padding.trailing)
