"""Keys and values between calls."""

from typing import Any, Dict, List, Sequence

from . import _core


class KeyValueCache:
    """Keys and values of earlier calls; made by ``cache`` of a layer or a ``DotProductAttention``.

    It belongs to what made it, and has a fixed number of sequences and of tokens for each.
    """

    def __init__(self, core: _core.Cache) -> None:
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
        self._core.truncate(sequence, length)

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
        self._core.take(other._core, list(sequences))

    def clear(self) -> None:
        """Forgets all tokens of all sequences."""
        self._core.clear()

    def __repr__(self) -> str:
        return f"KeyValueCache(lengths={self.lengths}, capacity={self.capacity})"


class CacheOwner:
    """What a layer and a ``DotProductAttention`` have in common: caches, and what they are."""

    _core: Any  # of the extension module

    def cache(self, capacity: int, sequences: int = 1) -> KeyValueCache:
        """Makes a cache for this object, which it keeps alive.

        Args:
            capacity: tokens of each sequence
            sequences: independent ones
        """
        return KeyValueCache(self._core.make_cache(sequences, capacity))

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
