"""Tensors and other arrays on their way into the extension module, which says what is wrong."""

import sys
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ._numbers import wholes

Array = Any
"""numpy.ndarray, torch.Tensor on the CPU, or whatever else has DLPack or the buffer protocol."""


def is_tensor(x: Array) -> bool:
    """Whether it is one of PyTorch, which is never imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_bf16(x: Array) -> bool:
    """Whether it is a tensor of bfloat16, which numpy does not have."""
    return is_tensor(x) and x.dtype is sys.modules["torch"].bfloat16


def require_cpu(name: str, x: Array) -> None:
    """A tensor of another device is refused before anything is copied from it.

    Raises:
        ValueError: it lies on another device.
    """
    if is_tensor(x) and x.device.type != "cpu":
        raise ValueError(
            f"{name} lies on {x.device}; headroom computes on the CPU: give {name}.cpu()"
        )


def _bits(x: Any) -> Any:
    """A bfloat16 tensor as what numpy has of it, in the same memory: DLPack takes far longer."""
    return x.view(sys.modules["torch"].int16).numpy().view(np.uint16)


def _shared(x: Any) -> Array:
    """A tensor as an array of numpy in the same memory: importing it by DLPack takes longer.

    numpy has no bfloat16: such a tensor becomes its bits, as uint16, which the extension takes for
    bfloat16. The memory of one whose negative bit is set has the other sign, so that it is copied.
    """
    if x.is_neg():
        x = x.resolve_neg()
    if is_bf16(x):
        return _bits(x)
    try:
        # numpy would replace memory that was given back.
        return x.numpy() if x.data_ptr() else x
    except (TypeError, RuntimeError):
        return x


def as_array(x: Array) -> Array:
    """What the extension module takes fastest, in the same memory."""
    return _shared(x.detach()) if is_tensor(x) else x


def activations(name: str, x: Array) -> Array:
    """As above; an input whose gradients are asked for is refused, for there would be none."""
    if not is_tensor(x):
        return x
    require_cpu(name, x)
    if not x.requires_grad:
        return _shared(x)
    if sys.modules["torch"].is_grad_enabled():
        raise TypeError(
            f"{name} requires gradients, which the layer does not compute; detach() it, or call"
            " under torch.inference_mode()"
        )
    return _shared(x.detach())


def written(name: str, x: Array) -> Array:
    """As ``activations``, of what a call writes.

    Raises:
        ValueError: what it writes would have another sign.
    """
    if is_tensor(x) and x.is_neg():
        raise ValueError(
            f"{name} has its negative bit set: what is written to its memory has the other sign;"
            f" give {name}.resolve_neg()"
        )
    return activations(name, x)


def mask_array(name: str, mask: Optional[Array]) -> Any:
    """A mask with all four directions, ``(batch, heads, tokens, keys)``, in the same memory."""
    if mask is None:
        return None
    require_cpu(name, mask)
    half = is_tensor(mask) and mask.is_floating_point() and not is_bf16(mask)
    array = np.asarray(as_array(mask.float() if half else mask))
    if array.ndim > 4:
        raise ValueError(
            f"{name} has {array.ndim} dimensions; allowed are up to 4: (batch, heads, tokens, keys)"
        )
    return array.reshape((1,) * (4 - array.ndim) + array.shape)


def padded(lengths: Optional[Sequence[int]], padding_side: str) -> Tuple[Optional[List[int]], bool]:
    """Lengths of sequences, and whether padding stands before them."""
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side is {padding_side!r}; allowed are 'left' and 'right'")
    left = padding_side == "left"
    return lengths if lengths is None else wholes("lengths", lengths), left


def positions_of(positions: Optional[Array], x: Array) -> Optional[List[int]]:
    """Of each row of x, or three of each."""
    if positions is None:
        return None
    given: Any = np.asarray(positions)
    if given.dtype.kind not in "iu":
        raise TypeError(f"positions are of {given.dtype}; allowed are whole numbers")
    rows = tuple(getattr(x, "shape", ())[:-1])
    if given.shape not in (rows, (3, *rows)):
        raise ValueError(
            f"positions are of shape {given.shape}; allowed is that of the rows of x, {rows}, or"
            f" {(3, *rows)} where the layer's rotary positions have sections"
        )
    return given.ravel().tolist()  # type: ignore[no-any-return]


def new_result(x: Array, width: int, zero: bool) -> "np.ndarray[Any, Any]":
    """An array of the shape of x, but for its width, and of its type, float32 or bfloat16."""
    shape: Any = getattr(x, "shape", None)
    dtype: Any = np.uint16 if getattr(x, "dtype", None) == np.uint16 else np.float32
    if shape is None:
        try:
            shape = memoryview(x).shape
        except TypeError:  # no array at all
            shape = (0, 0)
    return (np.zeros if zero else np.empty)((*shape[:-1], width), dtype)


def like(x: Array, result: "np.ndarray[Any, Any]") -> Array:
    """The result as a tensor if x is one."""
    if not is_tensor(x):
        return result
    torch = sys.modules["torch"]
    if result.dtype == np.uint16:
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)
