"""An attention implementation for the models of ``transformers``."""

import atexit
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from .._arrays import as_array
from .._attend import Kernels, Rule, heads_of, reads_bf16, sinks_array
from .._numbers import text
from ._forwards import TRACED, is_recorded
from ._mask_function import numbered_mask
from ._models import additive_mask, check_models, honours, own_way, refuse_config
from ._packed import say_once
from ._seen import NumberedMask, Seen, plain_mask

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._config import AttendOptions

_kernels: Dict[str, Dict[torch.dtype, Kernels]] = {}
# transformers keeps what is registered longer than the interpreter keeps the extension module.
atexit.register(_kernels.clear)


def attend(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    causal: bool,
    window: int,
    scale: float,
    softcap: float,
    mask: Optional[Tensor],
    sinks: Optional[Tensor],
    query_lengths: Optional[List[int]] = None,
    key_lengths: Optional[List[int]] = None,
) -> Tensor:
    """Of ``(batch, heads, tokens, head_dim)``, by the implementation that was registered under this
    name; the result has tokens before heads, as ``transformers`` wants it."""
    q, k, v = heads_of("query", query), heads_of("key", key), heads_of("value", value)
    make = torch.empty if query_lengths is None else torch.zeros
    out = make(q.shape, dtype=query.dtype)
    seen = None if mask is None else as_array(mask)
    rule = Rule(causal, window, scale, softcap)
    if name not in _kernels:  # of a program that another process exported
        raise RuntimeError(
            f"headroom: the implementation {name!r} is not known in this process; call"
            f" register_transformers({name!r}) first"
        )
    kernels = _kernels[name][query.dtype].get(q, k, rule)
    more = sinks_array(sinks, q.shape[2])
    kernels.run(q, k, v, as_array(out), seen, more, query_lengths, key_lengths, None)
    return out


# What a compiled graph calls.
attend_operator = torch.library.custom_op("headroom::attend", mutates_args=())(attend)


@attend_operator.register_fake
def _(name: str, query: Tensor, *others: Any) -> Tensor:
    return query.new_empty(query.transpose(1, 2).shape)


@torch.library.custom_op("headroom::whole_mask", mutates_args=())
def whole_mask_operator(mask: Tensor) -> Tensor:
    """What a compiled graph makes of a mask that was made outside of it: its numbers are of one
    call, and the graph is for all."""
    made = plain_mask(mask)
    assert made is not None
    return made.clone()


@whole_mask_operator.register_fake
def _(mask: Tensor) -> Tensor:
    return torch.empty(mask.shape, dtype=torch.bool)


class Call(NamedTuple):
    """What a model hands its attention function, by the names that it has for it."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Optional[Tensor]
    dropout: float
    scaling: Optional[float]
    decoder: bool  # a mask that is not there is the causal one
    softcap: Optional[float]
    s_aux: Optional[Tensor]
    sliding_window: Optional[int]
    position_bias: Optional[Tensor]

    @property
    def causal(self) -> bool:
        return self.decoder and self.query.shape[2] > 1 and self.mask is None

    def extras(self) -> Dict[str, Any]:
        """Arguments that not every attention function knows."""
        names = ("softcap", "s_aux", "position_bias")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def _fits(mask: Tensor, query: Tensor, key: Tensor) -> bool:
    """Whether the kernels take a mask for ``(batch, heads, tokens, head_dim)``."""
    sizes = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    return (
        mask.dtype in (torch.bool, torch.float32, torch.bfloat16)
        and mask.device.type == "cpu"
        and mask.dim() == 4
        and all(one in (1, size) for one, size in zip(mask.shape, sizes))
    )


def _why_not(name: str, call: Call) -> Optional[str]:
    tensors = (call.query, call.key, call.value)
    more = [one for one in (call.s_aux, call.position_bias) if one is not None]
    if is_recorded():
        return TRACED
    if call.dropout > 0:
        return "attention weights are dropped"
    if torch.is_grad_enabled() and any(one.requires_grad for one in (*tensors, *more)):
        return "gradients may be asked for"
    if any(one.dtype != call.query.dtype or one.device.type != "cpu" for one in tensors):
        return "the layer takes tensors of one dtype on the CPU"
    if call.query.dtype not in _kernels[name]:
        allowed = " and ".join(str(dtype).removeprefix("torch.") for dtype in _kernels[name])
        return f"the layer takes {allowed}"
    for one in (call.mask, call.position_bias):
        if one is not None and not _fits(one, call.query, call.key):
            return "the mask is of another shape or dtype than those that the layer takes"
    if call.causal and call.query.shape[2] > call.key.shape[2]:
        return "there are more queries than keys, in an order, without a mask"
    if call.scaling is not None and not call.scaling > 0:
        return "scores are scaled by a number that is not above 0"
    if call.softcap is not None and not call.softcap > 0:
        return "scores are capped by a number that is not above 0"
    if call.s_aux is not None and call.s_aux.shape != call.query.shape[1:2]:
        return "sinks are of another shape than one for each head"
    if call.key.shape[:3] != call.value.shape[:3] or 0 in call.query.shape or 0 in call.key.shape:
        return "keys and values differ in number, or nothing came"
    return None


def _with_bias(bias: Tensor, mask: Optional[Tensor]) -> Tensor:
    """Both in one mask that is added."""
    if mask is None:
        return bias
    if mask.dtype == torch.bool:
        return torch.where(mask, bias, float("-inf"))
    return bias + mask


def _seen(call: Call) -> Tuple[Seen, Optional[Tensor]]:
    """Which keys are seen by numbers, and the mask beside them."""
    mask = call.mask
    sizes = (call.query.shape[2], call.key.shape[2])
    if isinstance(mask, NumberedMask) and torch.compiler.is_compiling():
        seen, mask = Seen(), whole_mask_operator(mask)
    elif isinstance(mask, NumberedMask) and mask.seen is not None:
        if mask.shape[0] == call.query.shape[0] and mask.shape[2:] == sizes:
            seen, mask = mask.seen, mask.seen.keys
        else:
            seen, mask = Seen(), mask.whole()
    elif mask is None:
        # Queries are the last tokens of those that the keys are of. A mask has the window in it;
        # where there is none but ours would be there, nobody made it, and the argument counts.
        nobody = call.causal and not torch.compiler.is_compiling()
        window = call.sliding_window or 0
        seen = Seen(call.causal, window if nobody and window < sizes[1] else 0)
    else:
        seen, mask = Seen(), plain_mask(mask)
    if call.position_bias is not None:
        mask = _with_bias(call.position_bias, mask)
    return seen, mask


def _compute(name: str, call: Call) -> Tensor:
    """``(batch, tokens, heads, head_dim)``"""
    seen, mask = _seen(call)
    query, key, value = call.query, call.key, call.value
    scale = query.shape[3] ** -0.5 if call.scaling is None else call.scaling
    width = value.shape[3]
    # The kernels have one width. Zeros change no score, and are cut off from the result.
    widest = max(query.shape[3], width)
    if width < widest:
        value = torch.nn.functional.pad(value, (0, widest - width))
    elif query.shape[3] < widest:
        query, key = (torch.nn.functional.pad(x, (0, widest - x.shape[3])) for x in (query, key))
    given = (query, key, value, seen.causal, seen.window, scale, call.softcap or 0.0, mask)
    if torch.compiler.is_compiling():
        out = attend_operator(name, *given, call.s_aux)
    else:
        out = attend(name, *given, call.s_aux, seen.query_lengths, seen.key_lengths)
    return out[..., :width] if width < widest else out  # type: ignore[no-any-return]


def _by_others(module: Any, call: Call, why: str, others: Dict[str, Any]) -> Any:
    """By the model's own eager function or by sdpa, which is said."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    extras = call.extras()
    tensors = (call.query, call.key, call.value)
    own = own_way(module, others)
    function = own[1] if own is not None else None
    for name in extras:
        function = honours(module, name)
        if function is None:
            raise ValueError(
                f"{type(module).__name__} hands its attention {name!r}, and headroom does not take"
                f" this call: {why}; load the model with attn_implementation='eager'"
            )
    if function is None:
        say_once(f"{why}; sdpa takes the call")
        plain = call.query.shape[2] == call.key.shape[2] and Seen(True)
        ordered = isinstance(call.mask, NumberedMask) and call.mask.seen == plain
        return sdpa_attention_forward(
            module,
            *tensors,
            None if ordered else plain_mask(call.mask),
            dropout=call.dropout,
            scaling=call.scaling,
            is_causal=ordered or call.decoder,
            **others,
        )
    say_once(f"{why}; the model's own function takes the call")
    mask = additive_mask(plain_mask(call.mask), call.query, call.key.shape[2], call.decoder)
    if call.scaling is not None:
        extras["scaling"] = call.scaling
    return function(module, *tensors, mask, dropout=call.dropout, **extras, **others)


ROWS = "headroom_rows"  # of models whose whole layers are replaced


def _check_name(name: str) -> None:
    """Raises:
    TypeError: it is no text.
    ValueError: others have it.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    text("name", name)
    interfaces: Any = (AttentionInterface, AttentionMaskInterface)
    known = {"eager"}.union(*(one().keys() for one in interfaces))
    if name in known and name not in _kernels:
        raise ValueError(
            f"name is {name!r}, an implementation that transformers has already, and models that"
            " ask for it would get another one; choose a name of your own, such as 'headroom'"
        )


def register_transformers(name: str = "headroom", **options: "Unpack[AttendOptions]") -> str:
    """Makes the attention known to ``transformers``: ``attn_implementation="headroom"``.

    It computes every call of float32 and bfloat16 models on the CPU: prompts, tokens after a cache,
    one or several, padding on either side, static caches; scales, caps, sinks, windows, biases of
    positions, values of another width than keys, and any mask. Orders, windows and padding stay
    numbers: no mask is made for them, and rows of padding at the end of a sequence are 0. Other
    dtypes, gradients, dropout and attention weights go to ``"sdpa"`` or to the model's own eager
    function. A ``FallbackWarning`` says why once, and ``fallbacks`` counts such calls. The products
    of the layer stay those of the model.

    Args:
        name: of the implementation
        options: of ``headroom.Attention``: ``backend``, ``threads``, ``isa``, ``kernels`` ...
            With ``precision="bf16"`` products are of bfloat16, as those of PyTorch are for models
            of it; else they are of float32.

    Returns:
        The name.

    Raises:
        ImportError: ``transformers`` is not installed, or older than 4.53.
        TypeError: an option is not known.
        ValueError: transformers, or somebody else, has an implementation of that name.

    A model is refused with a ValueError, when it is loaded or first called, if it would lose a
    part of its attention: if it computes attention without asking for an implementation, or hands
    over an argument that is not known here.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
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
        softcap: Optional[float] = None,
        s_aux: Optional[Tensor] = None,
        sliding_window: Optional[int] = None,
        position_bias: Optional[Tensor] = None,
        **others: Any,
    ) -> Any:
        decoder = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
        call = Call(
            query,
            key,
            value,
            attention_mask,
            dropout,
            scaling,
            decoder,
            softcap,
            s_aux,
            sliding_window,
            position_bias,
        )
        own = own_way(module, others)
        reason = _why_not(name, call)
        if own is not None:
            reason = f"{type(module).__name__} asks for {own[0]}"
        if reason is not None:
            return _by_others(module, call, reason, others)
        return _compute(name, call), None

    def mask(*sizes: Any, **arguments: Any) -> Any:
        if not torch.compiler.is_compiling():
            refuse_config(arguments.get("config"), name)
        if sizes or "q_length" not in arguments:  # of an older transformers
            return sdpa_mask(*sizes, **{**arguments, "allow_is_causal_skip": False})
        if name == ROWS:  # a whole layer has an order of its own, for which the mask is asked
            arguments.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
        return numbered_mask(**arguments)

    _check_name(name)
    _kernels[name] = {torch.float32: Kernels(options)}
    if reads_bf16(options):
        _kernels[name][torch.bfloat16] = Kernels({**options, "dtype": "bf16"})
    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, mask)
    check_models(name)
    return name


def _of_attention(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of a layer without those that attention alone does not have."""
    of_layers = ("formulation", "weights_dtype", "cache_dtype")
    return {name: value for name, value in options.items() if name not in of_layers}


def register_rows(options: Mapping[str, Any]) -> str:
    """The implementation of accelerated models, by options of their layers."""
    return register_transformers(ROWS, **_of_attention(options))  # type: ignore[arg-type, unused-ignore]


def require_rows(options: Mapping[str, Any]) -> None:
    """A model that was accelerated in another process asks for it before its layers are called."""
    if ROWS not in _kernels:
        register_rows(options)
