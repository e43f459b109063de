"""Rows of a small index that stay in memory from one search to the next, while the index stays the same."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

KEPT_UP_TO = 2_000  # chunks of an index, 13 MB with what is kept of them; of a larger one hardly any is asked for twice


class KeptRows(Generic[K, V]):
    """Values made of rows of one generation of an index, by key. Used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = ""
        self._values: dict[K, V] = {}

    def find(self, generation: str, keys: Iterable[K]) -> dict[K, V]:
        """Return those of some values that are kept.

        Args:
            generation: Of the content of the index now.
            keys: Of the values.
        """
        with self._lock:
            if self._generation != generation:
                return {}
            values = self._values
            return {key: values[key] for key in keys if key in values}

    def keep(self, generation: str, values: Mapping[K, V]) -> None:
        """Keep values of a generation, and drop those of another one."""
        with self._lock:
            if self._generation != generation:
                self._generation, self._values = generation, {}
            self._values.update(values)
