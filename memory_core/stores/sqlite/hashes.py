"""Hashes of texts, one behind the other in one piece of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.stores.values import DIGEST_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Hashes:
    """Hashes of texts, one behind the other, which takes a fifth of the memory of a list.

    Args:
        joined: All of them, see `join_hashes`.
    """

    def __init__(self, joined: bytes) -> None:
        self._joined = joined

    def __len__(self) -> int:
        return len(self._joined) // DIGEST_BYTES

    def __getitem__(self, number: int) -> bytes:
        return self._joined[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]

    def find(self, others: Hashes) -> NDArray[np.intp]:
        """Return for each of other hashes its number here, which must be one at least, or -1.

        Of two here whose first half is the same, one may not be found.
        """
        import numpy as np

        own, wanted = self._view(), others._view()
        order = np.argsort(own[:, 0], kind="stable")
        at = np.searchsorted(own[order, 0], wanted[:, 0])
        numbers = order.take(at, mode="clip")
        return np.where((own.take(numbers, axis=0) == wanted).all(axis=1), numbers, -1)

    def choose(self, kept: NDArray[np.bool_], more: Sequence[bytes]) -> Hashes:
        """Return those that are kept, and more."""
        return Hashes(self._view()[kept].tobytes() + join_hashes(more))

    def _view(self) -> NDArray[np.uint64]:
        import numpy as np

        return np.frombuffer(self._joined, np.uint64).reshape(-1, DIGEST_BYTES // 8)


def join_hashes(hashes: Sequence[bytes]) -> bytes:
    """Return hashes one behind the other.

    Raises:
        DamagedRow: One has another length than all digests.
    """
    if {*map(len, hashes)} - {DIGEST_BYTES}:
        raise DamagedRow("a hash has another length than those of texts")
    return b"".join(hashes)
