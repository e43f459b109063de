"""Vectors as rows of which other states of an index hold most, too: a new state shares them and adds its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.stores.sqlite.encoding import RowLayout

_MOST_IDLE = 0.25  # of all rows: those that a state leaves out are compared for nothing, and stay in memory
_STEP = 4096  # rows that are widened at a time


class SharedRows:
    """Rows of float32, or as they are stored, each in the memory of the state in which it was read first. Never changed.

    Args:
        shared: Rows, shape (n, dimensions), or (n, layout.length) of a layout.
        own: More rows of that shape; None for none.
        places: The rows of this state, in order: numbers of rows of `shared`, then of `own` from n on; None for all of `shared`.
        layout: How these are stored; None for float32. Rows that are asked for are widened each time.
    """

    def __init__(
        self,
        shared: NDArray[Any],
        own: NDArray[Any] | None = None,
        places: NDArray[np.intp] | None = None,
        *,
        layout: RowLayout | None = None,
    ) -> None:
        self._shared = shared
        self._own = shared[:0] if own is None else own
        self._places = places
        self.layout = layout

    def __len__(self) -> int:
        return len(self._shared) if self._places is None else len(self._places)

    def take(self, numbers: NDArray[np.intp] | None) -> NDArray[np.float32]:
        """Return some rows as float32; None for all."""
        return self._widen(self._take(numbers))

    def steps(self) -> Iterator[NDArray[np.float32]]:
        """Yield all rows as float32, some thousand at a time."""
        rows = self._take(None)
        for first in range(0, len(rows), _STEP):
            yield self._widen(rows[first : first + _STEP])

    def compare(self, query: NDArray[np.float32], numbers: NDArray[np.intp] | None) -> NDArray[np.float32]:
        """Return the products of some rows and a query, in order; None for all rows."""
        import numpy as np

        if numbers is not None:
            return self._multiply(self._take(numbers), query)
        if self._places is None:
            return self._multiply(self._shared, query)
        return np.concatenate([self._multiply(self._shared, query), self._multiply(self._own, query)]).take(
            self._places
        )

    def choose(self, numbers: NDArray[np.intp], more: NDArray[Any]) -> SharedRows:
        """Return the rows of another state: some of these, in this order, and more behind them, given as these are held."""
        import numpy as np

        known = numbers if self._places is None else self._places.take(numbers)
        own = np.concatenate([self._own, more]) if len(more) else self._own
        kept = len(self._shared) + len(own)
        places = np.concatenate([known, np.arange(kept - len(more), kept, dtype=np.intp)])
        rows = SharedRows(self._shared, own, places, layout=self.layout)
        if kept - len(places) > _MOST_IDLE * kept or len(own) > _MOST_IDLE * kept:
            return SharedRows(rows._take(None), layout=self.layout)
        return rows

    def _take(self, numbers: NDArray[np.intp] | None) -> NDArray[Any]:
        import numpy as np

        if self._places is None:
            return self._shared if numbers is None else self._shared.take(numbers, axis=0)
        places = self._places if numbers is None else self._places.take(numbers)
        is_own = places >= len(self._shared)
        if not is_own.any():
            return self._shared.take(places, axis=0)
        rows = np.empty((len(places), self._shared.shape[1]), self._shared.dtype)
        rows[~is_own] = self._shared.take(places[~is_own], axis=0)
        rows[is_own] = self._own.take(places[is_own] - len(self._shared), axis=0)
        return rows

    def _widen(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        return rows if self.layout is None else self.layout.widen(rows)

    def _multiply(self, rows: NDArray[Any], query: NDArray[np.float32]) -> NDArray[np.float32]:
        import numpy as np

        if self.layout is not None:
            return self.layout.multiply(rows, query)
        products: NDArray[np.float32] = np.einsum("ij,j->i", rows, query)  # `@` wakes BLAS threads, which costs more
        return products
