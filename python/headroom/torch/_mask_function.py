"""What transformers calls for a mask."""

from typing import Any, Optional

import torch
from torch import Tensor

from ._models import trusts_no_mask
from ._seen import NumberedMask, Seen, Sizes, Told, pattern_of, seen_of


def numbered_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Any = None,
    attention_mask: Optional[Tensor] = None,
    allow_is_causal_skip: bool = True,
    allow_is_bidirectional_skip: bool = False,
    **more: Any,
) -> Optional[Tensor]:
    """As ``sdpa_mask`` of ``transformers``, but by its numbers where it has them."""
    from transformers.masking_utils import causal_mask_function, prepare_padding_mask, sdpa_mask

    function = causal_mask_function if mask_function is None else mask_function
    given = {
        **more,
        "batch_size": batch_size,
        "q_length": q_length,
        "kv_length": kv_length,
        "q_offset": q_offset,
        "kv_offset": kv_offset,
        "mask_function": function,
        "attention_mask": attention_mask,
    }
    if torch.compiler.is_compiling() or torch._C._get_tracing_state():
        square = q_length == 1 or (q_length == kv_length and trusts_no_mask(more.get("config")))
        made: Optional[Tensor] = sdpa_mask(
            **given,
            allow_is_causal_skip=allow_is_causal_skip and square,
            allow_is_bidirectional_skip=allow_is_bidirectional_skip,
        )
        return made

    def whole() -> Tensor:
        made: Any = sdpa_mask(**given, allow_is_causal_skip=False)
        return made  # type: ignore[no-any-return]

    pattern = pattern_of(function)
    padding = prepare_padding_mask(attention_mask, kv_length, kv_offset)
    cpu = torch.device(more.get("device", "cpu")).type == "cpu"
    if pattern is None or not cpu or (padding is not None and padding.dim() != 2):
        return whole()
    if padding is not None:
        padding = padding[:, kv_offset : kv_offset + kv_length].to(torch.bool)
    sizes = Sizes(batch_size, q_length, kv_length, int(q_offset), kv_offset)
    seen = seen_of(pattern, padding, sizes)
    skips = allow_is_causal_skip if pattern.causal else allow_is_bidirectional_skip
    if skips and seen == Seen():  # everything
        return None
    return NumberedMask(seen, sizes, whole, Told(pattern, padding, sizes))
