"""Numbers and names that callers give, in the types that the extension module takes."""

import operator
import reprlib
from typing import Any, List, Optional, Sequence

import numpy as np

_MOST = 2**63 - 1


def _refused(name: str, value: Any, allowed: str) -> TypeError:
    return TypeError(
        f"{name} is {reprlib.repr(value)}, of type {type(value).__name__}; allowed are {allowed}"
    )


def whole(name: str, value: Any, least: Optional[int] = None) -> int:
    """A whole number of Python, numpy or PyTorch.

    Raises:
        TypeError: it is none.
        ValueError: it is below ``least``, or has more than 64 bits.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise _refused(name, value, "whole numbers") from None
    if least is not None and number < least:
        raise ValueError(f"{name} is {number}; allowed are {least} and above")
    if abs(number) > _MOST:
        raise ValueError(f"{name} is {number}; allowed are numbers up to {_MOST}")
    return number


def wholes(name: str, values: Sequence[Any]) -> List[int]:
    """A list of them.

    Raises:
        TypeError: it is none.
    """
    try:
        return [operator.index(value) for value in values]
    except TypeError:
        raise _refused(name, values, "sequences of whole numbers") from None


def real(name: str, value: Any) -> float:
    """A number.

    Raises:
        TypeError: it is none.
    """
    if isinstance(value, (float, int)):
        return float(value)
    try:
        if not isinstance(value, (str, bytes)) and np.ndim(value) == 0:
            return float(value)
    except (TypeError, ValueError, RuntimeError):  # tensors have their own
        pass
    raise _refused(name, value, "numbers")


def text(name: str, value: Any) -> str:
    """Raises:
    TypeError: it is no text.
    """
    if not isinstance(value, str):
        raise _refused(name, value, "texts")
    return value


def rule(name: str, value: Any, kind: type) -> None:
    """Raises:
    TypeError: it is neither None nor of this kind.
    """
    if value is not None and not isinstance(value, kind):
        raise _refused(name, value, f"None and a headroom.{kind.__name__}")


def flag(name: str, value: Any) -> bool:
    """Raises:
    TypeError: it is neither True nor False.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise _refused(name, value, "True and False")
    return bool(value)
