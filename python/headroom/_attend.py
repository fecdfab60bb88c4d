"""Attention over queries, keys and values that you have, without weights."""

import atexit
import sys
import threading
import warnings
from collections import OrderedDict
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np

from . import _core
from ._arrays import (
    Array,
    activations,
    as_array,
    is_bf16,
    is_tensor,
    like,
    mask_array,
    require_cpu,
)
from ._config import AttendOptions, above_0, options_of
from ._numbers import whole, wholes

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Rule(NamedTuple):
    """Which keys a query sees, and what becomes of its scores."""

    causal: bool = False
    window: int = 0
    scale: float = 0.0  # 0: 1 / sqrt(head_dim)
    softcap: float = 0.0  # 0: none


def rule_of(
    causal: bool, window: Optional[int], scale: Optional[float], softcap: Optional[float]
) -> Rule:
    """Of what callers give, where None is what 0 is here.

    Raises:
        TypeError: one is no number.
        ValueError: one is not above 0.
    """
    reach = 0 if window is None else whole("window", window, least=1)
    return Rule(causal, reach, above_0("scale", scale), above_0("softcap", softcap))


def sinks_array(sinks: Optional[Array], heads: int) -> Any:
    """One float for each query head, as the extension module takes them."""
    if sinks is None:
        return None
    require_cpu("sinks", sinks)
    array = np.asarray(as_array(sinks.float() if is_tensor(sinks) else sinks), np.float32)
    if array.shape != (heads,):
        raise ValueError(
            f"sinks have shape {array.shape}; allowed is ({heads},): one for each head of queries"
        )
    return np.ascontiguousarray(array)


def make_attend(sizes: _core.Sizes, rule: Rule, options: _core.Options) -> _core.Attend:
    """For calls up to these sizes. Why a tuning file is not used is a warning."""
    attend, notes = _core.Attend.make(sizes, *rule, options)
    for note in notes:
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    return attend


class Kernels:
    """Attention of some options, for the rules, numbers of heads and head widths that came.

    What was not asked for of late is forgotten, so that memory is not kept for good.
    """

    _MOST = 16

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options_of(options, AttendOptions)
        self.made: OrderedDict[Tuple[Any, ...], Tuple[_core.Attend, Tuple[int, ...]]] = (
            OrderedDict()
        )
        self.lock = threading.Lock()

    def get(self, q: Array, k: Array, rule: Rule) -> _core.Attend:
        """For ``(batch, tokens, heads, head_dim)``; made anew, for more, if it is too small."""
        kind = (q.shape[2], k.shape[2], q.shape[3], rule)
        sizes = (q.shape[0], q.shape[1], k.shape[1])
        with self.lock:
            attend, most = self.made.pop(kind, (None, (0, 0, 0)))
            if attend is None or any(need > size for need, size in zip(sizes, most)):
                most = tuple(
                    max(old, 1 << (need - 1).bit_length()) for old, need in zip(most, sizes)
                )
                attend = self._make(kind, most)
            self.made[kind] = (attend, most)
            while len(self.made) > self._MOST:
                self.made.popitem(last=False)
            return attend

    def _make(self, kind: Tuple[Any, ...], most: Tuple[int, ...]) -> _core.Attend:
        sizes = _core.Sizes()
        sizes.heads, sizes.kv_heads, sizes.head_dim, rule = kind
        sizes.batch, sizes.queries, sizes.keys = most
        return make_attend(sizes, rule, self.options)


_kernels: "OrderedDict[Tuple[Any, ...], Kernels]" = OrderedDict()
_lock = threading.Lock()
# The operators of headroom.torch, which PyTorch never gives back, keep this module's names for
# longer than the interpreter keeps the extension module.
atexit.register(_kernels.clear)


def _kernels_of(options: Mapping[str, Any]) -> Kernels:
    key = tuple(sorted(options.items()))
    with _lock:
        found = _kernels.pop(key, None)
        if found is None:
            found = Kernels(options)
        _kernels[key] = found
        while len(_kernels) > 8:
            _kernels.popitem(last=False)
        return found


def as_it_lies(name: str, x: Array) -> Any:
    """As ``(batch, tokens, heads, head_dim)`` in the same memory; of bfloat16 the bits."""
    array = activations(name, x)
    if not isinstance(array, np.ndarray):
        array = np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)
    if not 2 <= array.ndim <= 4:
        raise ValueError(
            f"{name} has shape {tuple(array.shape)}; allowed are (tokens, head_dim), (heads,"
            " tokens, head_dim) and (batch, heads, tokens, head_dim)"
        )
    if array.ndim < 4:
        array = array.reshape((1,) * (4 - array.ndim) + array.shape)
    return array.transpose(0, 2, 1, 3)


def heads_of(name: str, x: Array) -> Any:
    """The same, and copied only if the kernels do not follow its strides."""
    array = as_it_lies(name, x)
    strides = array.strides
    if strides[3] != array.itemsize or min(strides) < 0:
        return np.ascontiguousarray(array)
    return array


def reads_bf16(options: Mapping[str, Any]) -> bool:
    """Whether the backend of these options does; ``naive`` and ``autovec`` have float32 alone."""
    return options.get("backend", "auto") in ("auto", "xsimd", "onednn", "tbb")


def widened(x: Array, options: Mapping[str, Any]) -> Array:
    """A tensor of 16-bit floats, if the kernels do not read it as it lies, as one of floats."""
    if not is_tensor(x) or x.dtype is sys.modules["torch"].float32:
        return x
    kept = reads_bf16(options) and options.get("dtype", "bf16") == "bf16"
    if x.dtype is sys.modules["torch"].float16 or (is_bf16(x) and not kept):
        return x.float()
    return x


def _is_written(out: Optional[Array], options: Mapping[str, Any]) -> bool:
    """Whether the kernels write it, or it is left to them to say what is wrong with it."""
    if out is not None and is_tensor(out) and out.is_neg():
        return False
    if is_bf16(out):
        return options.get("dtype") == "bf16"
    return out is not None and not (is_tensor(out) and out.dtype is sys.modules["torch"].float16)


def _new_result(run: Callable[[Any], None], query: Array, q: Any, zero: bool) -> Array:
    """What ``run`` writes, ``(batch, tokens, heads, head_dim)``, in a new array of the query's type
    and dimensions."""
    shape = (q.shape[0], q.shape[2], q.shape[1], q.shape[3])
    made: Any
    if is_tensor(query) and q.dtype == np.uint16:
        made = (query.new_zeros if zero else query.new_empty)(shape)
    else:
        made = (np.zeros if zero else np.empty)(shape, np.float32)
    run(as_it_lies("out", made))
    result = made.reshape(tuple(getattr(query, "shape", shape)))
    if not is_tensor(query):
        return result
    return (result if is_tensor(result) else like(query, result)).to(query.dtype)


def answer(
    run: Callable[[Any], None],
    query: Array,
    q: Any,
    out: Optional[Array],
    *,
    options: Mapping[str, Any],
    zero: bool,
) -> Array:
    """``out``, or a new array as the query, with what ``run`` writes.

    Args:
        run: writes ``(batch, tokens, heads, head_dim)``
        query: as it was given
        q: as ``run`` reads it
        zero: whether rows that ``run`` does not write are 0 in a new array
    """
    if _is_written(out, options):
        run(as_it_lies("out", out))
        return out
    result = _new_result(run, query, q, zero)
    if out is None:
        return result
    if tuple(out.shape) != tuple(result.shape):
        raise ValueError(
            f"out has shape {tuple(out.shape)}; for this query it must be {tuple(result.shape)}"
        )
    return out.copy_(result if is_tensor(result) else like(out, result))


def listed(lengths: Optional[Sequence[int]]) -> Optional[List[int]]:
    """As the extension module takes them."""
    return None if lengths is None else wholes("lengths", lengths)


def _from_first_key(q: Any, k: Any, v: Any, mask: Any) -> Tuple[Any, Any, Any, bool]:
    """Keys, values and mask of queries that count from the first key; and whether to count from the
    last one, which is the same then."""
    tokens, keys = q.shape[1], k.shape[1]
    if tokens == keys:
        return k, v, mask, True
    if tokens < keys:  # the other keys are seen by nobody
        whole = mask is None or mask.shape[3] == 1
        return k[:, :tokens], v[:, :tokens], mask if whole else mask[..., :tokens], True
    seen = np.tri(tokens, keys, dtype=bool)
    if mask is None or mask.dtype == bool:
        return k, v, seen[None, None] if mask is None else mask & seen, False
    hidden = np.uint16(0xFF80) if mask.dtype == np.uint16 else np.float32(-np.inf)
    return k, v, np.where(seen, mask, hidden), False


def attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Optional[Array] = None,
    dropout_p: float = 0.0,
    is_causal: Union[bool, str] = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    *,
    window: Optional[int] = None,
    softcap: Optional[float] = None,
    sinks: Optional[Array] = None,
    query_lengths: Optional[Sequence[int]] = None,
    key_lengths: Optional[Sequence[int]] = None,
    out: Optional[Array] = None,
    **options: "Unpack[AttendOptions]",
) -> Array:
    """``softmax(scale q k^T + mask) v`` of each head, over arrays of numpy or of PyTorch.

    The arguments are those of ``torch.nn.functional.scaled_dot_product_attention``. What a call
    needs besides them is made at the first one of its kind and kept for the next ones.

    Args:
        query: ``(batch, heads, tokens, head_dim)`` float32, of any strides; the first, or the first
            two, may be left out. Tensors of bfloat16 are read as they lie where the backend has it;
            those of float16 are converted. The result is as they are. No gradients.
        key: ``(batch, kv_heads, keys, head_dim)``
        value: as ``key``
        attn_mask: of ``(batch, heads, tokens, keys)`` or what broadcasts to it. A boolean one is
            true where a key is seen; another is added to scores. The output of a query that sees no
            key is 0. Values behind hidden keys must be finite.
        dropout_p: must be 0.
        is_causal: query ``t`` sees keys 0 to ``t``. ``"lower_right"``: the last query sees the last
            key, as after a cache, which differs if there are more keys than queries.
        scale: of scores. Default: ``1 / sqrt(head_dim)``.
        enable_gqa: ``kv_heads`` may be a divisor of ``heads``.
        window: the most keys that a query sees back, its own included. If nothing is causal, it
            sees as many ahead.
        softcap: scaled scores become ``softcap * tanh(score / softcap)``, before any mask.
        sinks: one logit for each head of queries, ``(heads,)``: it is in the sum of the softmax and
            has no value.
        query_lengths: tokens of each sequence that are there. Rows after them are not read, and
            are 0 in a result that is made here.
        key_lengths: the same of keys and values.
        out: array to write the result to, as ``query``.
        options: ``backend``, ``threads``, ``isa``, ``unit``, ``kernels``, ``precision``, ``dtype``
            and ``tuning_file`` of ``Attention``.

    Returns:
        An array as ``query``; a tensor if it is one.

    Raises:
        TypeError: an array is none, or of another dtype; an option is not known.
        ValueError: sizes do not fit each other, or an option has no such value.
        RuntimeError: a backend or instruction set is not here, or declines.
    """
    if dropout_p:
        raise ValueError(f"dropout_p is {dropout_p}; this is for inference, so it must be 0")
    if is_causal not in (False, True, "lower_right"):
        raise ValueError(f"is_causal is {is_causal!r}; allowed are False, True and 'lower_right'")
    rule = rule_of(bool(is_causal), window, scale, softcap)
    given = query
    query, key, value = (widened(x, options) for x in (query, key, value))
    if is_bf16(query) or is_bf16(key) or is_bf16(value):
        options["dtype"] = "bf16"
    q, k, v = heads_of("query", query), heads_of("key", key), heads_of("value", value)
    if q.shape[2] != k.shape[2] and not enable_gqa:
        raise ValueError(
            f"query has {q.shape[2]} heads and key has {k.shape[2]}; with enable_gqa=True a head of"
            " keys serves several of queries"
        )
    mask = mask_array("attn_mask", attn_mask)
    if is_causal is True:
        if k.shape[1] != q.shape[1] and (query_lengths is not None or key_lengths is not None):
            raise ValueError(
                "is_causal counts from the first key, which lengths do not fit; use 'lower_right'"
            )
        k, v, mask, causal = _from_first_key(q, k, v, mask)
        rule = rule._replace(causal=causal)

    lengths = (listed(query_lengths), listed(key_lengths))
    more = sinks_array(sinks, q.shape[2])

    def run(written: Any) -> None:
        if 0 not in q.shape:
            _kernels_of(options).get(q, k, rule).run(q, k, v, written, mask, more, *lengths, None)

    return answer(run, given, q, out, options=options, zero=lengths[0] is not None)
