"""Keys and values between calls."""

from typing import List

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

    def clear(self) -> None:
        """Forgets all tokens of all sequences."""
        self._core.clear()

    def __repr__(self) -> str:
        return f"KeyValueCache(lengths={self.lengths}, capacity={self.capacity})"
