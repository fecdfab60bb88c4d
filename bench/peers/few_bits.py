"""Weights rounded as ours of q8 and q4 are, which is as the GGUF types Q8_0 and Q4_0 are rounded."""
from typing import Any, Tuple

import numpy as np

GROUP = 32
BITS = {"q8": 8, "q4": 4}


def grouped(weight: Any, bits: int) -> Tuple[Any, Any]:
    """Of (in, out): values, (out, groups, 32) of int8, and scales, (out, groups) of float32 that
    float16 holds. A weight is their product."""
    depth, width = weight.shape
    if depth % GROUP != 0:
        raise ValueError(f"a depth of {depth} is no multiple of {GROUP}, a group of weights")
    groups = np.ascontiguousarray(weight.T).reshape(width, depth // GROUP, GROUP)
    place = np.abs(groups).argmax(axis=2)[..., None]
    largest = np.take_along_axis(groups, place, axis=2)
    scale = np.abs(largest) / np.float32(127) if bits == 8 else largest / np.float32(-8)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    steps = groups * inverse
    if bits == 8:  # halves away from zero
        values = np.sign(steps) * np.floor(np.abs(steps) + np.float32(0.5))
    else:
        values = np.minimum(np.floor(steps + np.float32(0.5)), np.float32(7))
    return values.astype(np.int8), scale[..., 0].astype(np.float16).astype(np.float32)


def nibbles(values: Any) -> Any:
    """Pairs of values from 0 to 15 in one byte, the first in its lower half."""
    return (values[..., 0::2] | values[..., 1::2] << 4).astype(np.uint8)


def by_channel(weight: Any) -> Tuple[Any, Any]:
    """Of (in, out): int8 values, (out, in), and one float32 scale for each output."""
    rows = np.ascontiguousarray(weight.T)
    scale = np.abs(rows).max(axis=1) / np.float32(127)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    return np.rint(rows * inverse[:, None]).astype(np.int8), scale
