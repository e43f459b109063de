"""Vectors as rows of which other states of an index hold most, too: a new state shares them and adds its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_IDLE = 0.25  # of all rows: those that a state leaves out are compared for nothing, and stay in memory


class SharedRows:
    """Rows of float32, each in the memory of the state in which it was read first. Never changed.

    Args:
        shared: Rows, shape (n, dimensions).
        own: More rows, (m, dimensions); None for none.
        places: The rows of this state, in order: numbers of rows of `shared`, then of `own` from n on; None for all of `shared`.
    """

    def __init__(
        self,
        shared: NDArray[np.float32],
        own: NDArray[np.float32] | None = None,
        places: NDArray[np.intp] | None = None,
    ) -> None:
        self._shared = shared
        self._own = shared[:0] if own is None else own
        self._places = places

    def __len__(self) -> int:
        return len(self._shared) if self._places is None else len(self._places)

    @property
    def dimensions(self) -> int:
        """The length of a row."""
        return int(self._shared.shape[1])

    def take(self, numbers: NDArray[np.intp] | None) -> NDArray[np.float32]:
        """Return some rows as an array; None for all."""
        import numpy as np

        if self._places is None:
            return self._shared if numbers is None else self._shared.take(numbers, axis=0)
        places = self._places if numbers is None else self._places.take(numbers)
        is_own = places >= len(self._shared)
        if not is_own.any():
            return self._shared.take(places, axis=0)
        rows = np.empty((len(places), self.dimensions), np.float32)
        rows[~is_own] = self._shared.take(places[~is_own], axis=0)
        rows[is_own] = self._own.take(places[is_own] - len(self._shared), axis=0)
        return rows

    def compare(self, query: NDArray[np.float32], numbers: NDArray[np.intp] | None) -> NDArray[np.float32]:
        """Return the products of some rows and a query, in order; None for all rows."""
        import numpy as np

        def multiply(rows: NDArray[np.float32]) -> NDArray[np.float32]:
            cosines: NDArray[np.float32] = np.einsum("ij,j->i", rows, query)  # `@` wakes BLAS threads, which costs more
            return cosines

        if numbers is not None or self._places is None:
            return multiply(self.take(numbers))
        return np.concatenate([multiply(self._shared), multiply(self._own)]).take(self._places)

    def choose(self, numbers: NDArray[np.intp], more: NDArray[np.float32]) -> SharedRows:
        """Return the rows of another state: some of these, in this order, and more behind them."""
        import numpy as np

        known = numbers if self._places is None else self._places.take(numbers)
        own = np.concatenate([self._own, more]) if len(more) else self._own
        kept = len(self._shared) + len(own)
        places = np.concatenate([known, np.arange(kept - len(more), kept, dtype=np.intp)])
        rows = SharedRows(self._shared, own, places)
        if kept - len(places) > _MOST_IDLE * kept or len(own) > _MOST_IDLE * kept:
            return SharedRows(rows.take(None))
        return rows
