"""Rows of a large table of token vectors, a few at a time: those used last are kept, so that the table need not be in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from memory_core.embeddings.vectors import widen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ROWS = 4_096  # kept; a search needs some hundred, most of them those of the searches before


class TokenRows:
    """Rows of one table, by token. Used from several threads, of which none waits while another one reads the table.

    Args:
        load_table: Maps the table into memory, shape (tokens, dimensions), float16 or float32; called when rows are missing.
        most: Rows that are kept.
    """

    def __init__(self, load_table: Callable[[], NDArray[np.generic]], *, most: int = MOST_ROWS) -> None:
        self._load_table = load_table
        self._most = most
        self._lock = threading.Lock()
        self._used = 0  # of the rows
        self._rows: NDArray[np.generic] | None = None
        self._places: NDArray[np.int32] | None = None  # of every token its row; -1 where it has none

    def take(self, ids: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Return the rows of some tokens as float32; of a token that the table has not, the last one."""
        import numpy as np

        with self._lock:
            rows, places = self._rows, self._places
            if rows is not None and places is not None:
                at = places.take(ids, mode="clip")
                lacking = at < 0
                if not lacking.any():
                    return to_float32(rows.take(at, axis=0))
                found = rows.take(at, axis=0, mode="clip")
            else:
                lacking, found = np.ones(len(ids), np.bool_), None
        table = self._load_table()
        missing, which = np.unique(np.minimum(ids[lacking], len(table) - 1), return_inverse=True)
        read = table.take(missing, axis=0)
        if found is None:
            found = read.take(which, axis=0)
        else:
            found[lacking] = read.take(which, axis=0)
        self._keep(missing, read, len(table))
        return to_float32(found)

    def _keep(self, ids: NDArray[np.uint16], rows: NDArray[np.generic], count: int) -> None:
        """Keep rows; when there is no room, drop all others: those that are wanted come again."""
        import numpy as np

        if len(ids) > self._most:
            return
        with self._lock:
            if self._rows is None or self._places is None:
                self._rows = np.empty((self._most, rows.shape[1]), rows.dtype)
                self._places = np.full(count, -1, np.int32)
            if self._used + len(ids) > self._most:
                self._places.fill(-1)
                self._used = 0
            end = self._used + len(ids)
            self._rows[self._used : end] = rows
            self._places[ids] = np.arange(self._used, end, dtype=np.int32)
            self._used = end


def to_float32(rows: NDArray[np.generic]) -> NDArray[np.float32]:
    """Return rows of float16 or float32 as float32."""
    import numpy as np

    return widen(rows.view(np.float16)) if rows.dtype == np.float16 else rows.astype(np.float32, copy=False)
