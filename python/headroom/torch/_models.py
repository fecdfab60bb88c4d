"""What a model of ``transformers`` asks of its attention, and what it does when left to itself."""

import functools
import inspect
import re
import sys
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch
from torch import Tensor

from ._packed import say_once

Function = Callable[..., Any]

# Arguments that change nothing of what attention computes: the mask says the same, or they belong
# to the model around it. No eager function reads them.
_NEUTRAL = frozenset(
    (
        "cache_position",
        "deterministic",
        "logits_to_keep",
        "num_items_in_batch",
        "output_hidden_states",
        "output_router_logits",
        "past_key_values",
        "position_embeddings",
        "position_ids",
        "return_dict",
        "sliding_window",
        "use_cache",
    )
)
# Arguments that every eager function honours which is handed them, by this name or by that of the
# module's own parameter. What is in neither list and not named by the function is refused: some
# models leave a part of their mask to it.
_OWN = frozenset(
    (
        "cu_seq_lens_k",
        "cu_seq_lens_q",
        "max_length_k",
        "max_length_q",
        "output_attentions",
        "s_aux",
    )
)
_FALSE_IS_NONE = frozenset(("output_attentions",))


def unusual(given: Dict[str, Any]) -> List[str]:
    """Names of the arguments that the layer does not know."""
    return [
        name
        for name, value in given.items()
        if value is not None
        and name not in _NEUTRAL
        and not (name in _FALSE_IS_NONE and value is False)
    ]


def _collector() -> Any:
    """What a model of ``transformers`` collects of its modules while it is called."""
    capturing = sys.modules.get("transformers.utils.output_capturing")  # since 5.0
    return None if capturing is None else capturing._active_collector


def weights_wanted() -> bool:
    """Whether the model that is called collects attention weights, which it need not tell its
    attention modules."""
    active = _collector()
    collected = None if active is None else active.get()
    return collected is not None and any(name.endswith("attentions") for name in collected)


def own_function(module: Any) -> Optional[Function]:
    """The eager function beside the attention class, also of a class derived from it elsewhere."""
    for one in type(module).__mro__:
        function = getattr(sys.modules.get(one.__module__), "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    return None


@functools.cache
def _named_by(function: Function) -> Set[str]:
    return set(inspect.signature(function).parameters)


def own_way(module: Any, given: Dict[str, Any]) -> Optional[Tuple[str, Function]]:
    """The argument for which a call goes to the model's own function, and this, if there is one.

    Raises:
        ValueError: there is an argument that this function does not honour either.
    """
    found = unusual(given)
    if weights_wanted():
        found.append("output_attentions")
    if not found:
        return None
    function = own_function(module)
    known = _OWN | _named_by(function) if function is not None else set()
    for name in found:
        if function is None or name not in known:
            raise ValueError(
                f"{type(module).__name__} hands its attention {name!r}, which headroom does not"
                " know, and without it the result would be another; load the model with"
                " attn_implementation='eager' or 'sdpa'"
            )
    assert function is not None
    return found[0], function


def honours(module: Any, name: str) -> Optional[Function]:
    """The module's own eager function, if it takes an argument of this name or has it itself."""
    function = own_function(module)
    if function is None or name not in _OWN | _named_by(function):
        return None
    return function


def additive_mask(mask: Optional[Tensor], query: Tensor, keys: int, causal: bool) -> Any:
    """The mask as eager functions take it, from that of ``sdpa``.

    Args:
        mask: true where a key is seen, or already added to scores; None if ``causal`` says all
        query: ``(batch, heads, tokens, head_dim)``
        keys: of each sequence
        causal: a mask that is not there is the causal one, whose last query stands at the last key
    """
    if mask is None:
        if not causal:
            return None
        mask = torch.ones(1, 1, query.shape[2], keys, dtype=torch.bool, device=query.device)
        mask = mask.tril(keys - query.shape[2])
    if mask.dtype != torch.bool:
        return mask
    shown = torch.zeros((), dtype=query.dtype, device=query.device)
    return torch.where(mask, shown, torch.finfo(query.dtype).min)


# Classes of a model's file that compute attention; the name is a habit that transformers relies on.
_ATTENTION_CLASS = re.compile(r"^class \w*Attention\w*\((?:nn|torch\.nn)\.Module\)", re.MULTILINE)


@functools.cache
def _ignores_implementation(module: str) -> bool:
    """Whether a model's file has attention that never asks for the implementation.

    Its masks are made for the implementation all the same, so that they would not fit.
    """
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return False
    if "ALL_ATTENTION_FUNCTIONS" in source or _ATTENTION_CLASS.search(source) is None:
        return False
    return "masking_utils" in source or "_attn_implementation" in source


def _refusal(model: str, name: str) -> ValueError:
    return ValueError(
        f"{model} computes attention itself and does not ask for the implementation {name!r}, so"
        " that its masks would be lost; load it with attn_implementation='eager', or 'sdpa' if it"
        " has that"
    )


def refuse_model(model: Any, name: str) -> None:
    """Raises:
    ValueError: the model would lose its masks.
    """
    for one in type(model).__mro__:
        if _ignores_implementation(one.__module__):
            raise _refusal(type(model).__name__, name)


def makes_own_masks(model: Any) -> bool:
    """Whether a model, or its class, computes with masks, so that it takes no other than its own.

    One for sdpa takes those of sdpa, and one for flash attention leaves all to the function that
    it calls; such models lack sdpa because of a cap or sinks, which the kernels have.
    """
    sdpa = getattr(model, "_supports_sdpa", True)
    return not sdpa and not getattr(model, "_supports_flash_attn", False)


_without_sdpa: Set[str] = set()


def trusts_no_mask(config: Any) -> bool:
    """Whether a model's attention knows that it is causal if there is no mask, as sdpa needs it."""
    return getattr(config, "model_type", None) not in _without_sdpa


def _needs_eager(config_class: Any, module: str) -> bool:
    models = vars(sys.modules[module]).values() if module in sys.modules else ()
    return any(
        isinstance(one, type)
        and getattr(one, "config_class", None) is config_class
        and makes_own_masks(one)
        for one in models
    )


def refuse_config(config: Any, name: str) -> None:
    """As ``refuse_model``, for one whose implementation was set by hand after it was made."""
    config_class: Any = type(config)
    module = config_class.__module__.replace(".configuration_", ".modeling_")
    model = f"a {getattr(config, 'model_type', config_class.__name__)}"
    if _ignores_implementation(module):
        raise _refusal(model, name)
    if _needs_eager(config_class, module):
        raise ValueError(
            f"{model} takes no masks of sdpa, which {name!r} shares; call set_attn_implementation,"
            " which knows that, rather than setting it in the config"
        )


_checked: Set[str] = set()


def check_models(name: str) -> None:
    """Has models checked that are loaded with this implementation, or are given it.

    transformers checks only whether an implementation of that name exists. A model that would lose
    its masks is refused. One that takes no masks of sdpa, which are ours, is left to its own eager
    functions.
    """
    from transformers import PreTrainedModel

    if not _checked:
        theirs = PreTrainedModel.get_correct_attn_implementation

        @functools.wraps(theirs)
        def checked(model: Any, requested: Any, *others: Any, **more: Any) -> Any:
            if requested in _checked:
                refuse_model(model, requested)
                if not model._supports_sdpa:
                    _without_sdpa.add(model.config.model_type)
                if makes_own_masks(model):
                    say_once(
                        f"{type(model).__name__} computes with masks of its own; its own eager"
                        " function takes all calls"
                    )
                    requested = "eager"
            return theirs(model, requested, *others, **more)

        setattr(PreTrainedModel, theirs.__name__, checked)
        sets = PreTrainedModel.set_attn_implementation

        @functools.wraps(sets)
        def refused(model: Any, attn_implementation: Any, *others: Any, **more: Any) -> Any:
            # transformers would log that it cannot be set, and go on.
            if isinstance(attn_implementation, str) and attn_implementation in _checked:
                refuse_model(model, attn_implementation)
            return sets(model, attn_implementation, *others, **more)

        setattr(PreTrainedModel, sets.__name__, refused)
    _checked.add(name)
