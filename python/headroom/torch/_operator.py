"""The operator that a compiled graph calls: whole modules, named by a number."""

from typing import Optional

import torch
from torch import Tensor

from ._masks import Masks
from ._packed import module_of


@torch.library.custom_op("headroom::attention", mutates_args=())
def attention(
    query: Tensor,
    memory: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    attn_mask: Optional[Tensor],
    module: int,
    causal: bool,
) -> Tensor:
    """``PackedModule.compute`` of the module with this number."""
    return module_of(module).compute(
        query.contiguous(),
        None if memory is None else memory.contiguous(),
        Masks(key_padding_mask, attn_mask, causal),
    )


@attention.register_fake
def _(
    query: Tensor,
    memory: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    attn_mask: Optional[Tensor],
    module: int,
    causal: bool,
) -> Tensor:
    return query.new_empty(query.shape[0], query.shape[1], module_of(module).output_width())
