"""Keys and values between calls."""

import copy
from typing import Any, Dict, List, Sequence, Union

from . import _core
from ._numbers import whole, wholes


class KeyValueCache:
    """Keys and values of earlier calls; made by ``cache`` of a layer or a ``DotProductAttention``.

    It belongs to what made it, and has a fixed number of sequences and of tokens for each. A copy
    has the same tokens and goes on by itself; there are no pickles.
    """

    def __init__(self, owner: "Union[_core.Layer, _core.Attend]", core: _core.Cache) -> None:
        self._owner = owner
        self._core = core

    @property
    def sequences(self) -> int:
        """Independent sequences."""
        return self._core.sequences

    @property
    def capacity(self) -> int:
        """Tokens that each sequence has room for."""
        return self._core.capacity

    @property
    def lengths(self) -> List[int]:
        """Tokens of each sequence."""
        return self._core.lengths

    @property
    def nbytes(self) -> int:
        """Memory of the whole capacity."""
        return self._core.nbytes

    def truncate(self, length: int, *, sequence: int = 0) -> None:
        """Forgets the tokens of a sequence from ``length`` on.

        Raises:
            ValueError: there is no such sequence, or it is shorter.
        """
        self._core.truncate(whole("sequence", sequence), whole("length", length))

    def take(self, other: "KeyValueCache", sequences: Sequence[int]) -> None:
        """Copies tokens of another cache of the same layer, of any capacity: to have more room, or
        to go on from one sequence in several ways.

        Args:
            other: it stays as it is
            sequences: for each sequence of this cache, which one of the other it becomes

        Raises:
            ValueError: the caches are of different layers, there is no such sequence or not one for
                each, or one is longer than the capacity.
        """
        self._core.take(other._core, wholes("sequences", sequences))

    def clear(self) -> None:
        """Forgets all tokens of all sequences."""
        self._core.clear()

    def __copy__(self) -> "KeyValueCache":
        made = self._owner.make_cache(self.sequences, self.capacity)
        made.take(self._core, list(range(self.sequences)))
        return KeyValueCache(self._owner, made)

    def __deepcopy__(self, memo: Any) -> "KeyValueCache":
        return copy.copy(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a KeyValueCache has no pickle: its keys and values lie in the layout of a layer of"
            " this process; compute them again from the tokens"
        )

    def __repr__(self) -> str:
        return f"KeyValueCache(lengths={self.lengths}, capacity={self.capacity})"


class CacheOwner:
    """What a layer and a ``DotProductAttention`` have in common: caches, and what they are.

    Nothing of them changes once they are made, so that a copy is the same object; there are no
    pickles.
    """

    _core: Any  # of the extension module

    def __copy__(self) -> "CacheOwner":
        return self

    def __deepcopy__(self, memo: Any) -> "CacheOwner":
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        kind = type(self).__name__
        raise TypeError(
            f"{kind} has no pickle: what it packed is for the processor of this process; pickle"
            f" what it was made of, and make {kind} of that again"
        )

    def cache(self, capacity: int, sequences: int = 1) -> KeyValueCache:
        """Makes a cache for this object, which it keeps alive.

        Args:
            capacity: tokens of each sequence
            sequences: independent ones
        """
        made = self._core.make_cache(whole("sequences", sequences), whole("capacity", capacity))
        return KeyValueCache(self._core, made)

    @property
    def choice(self) -> Dict[str, Any]:
        """Who computes it, and why: ``backend``, ``reason``, ``unit`` ...; of a layer also
        ``formulation`` and ``threads``."""
        return self._core.choice  # type: ignore[no-any-return]

    @property
    def costs(self) -> Dict[str, Any]:
        """``setup_seconds``, ``workspace_bytes``, and who does the work; of a layer also
        ``packed_bytes``."""
        return self._core.costs  # type: ignore[no-any-return]
