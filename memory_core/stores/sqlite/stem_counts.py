"""In how many chunks each stem stands: counted once for each state of an index, as questions share most of their words."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection
from typing import cast

from memory_core.stores.sqlite import Connection, meta

_MOST = 50_000  # stems that are kept: about 5 MB


class StemCounts:
    """Counts of one index, kept while its content stays the same. Used from several threads, each with its own connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = ""
        self._counts: dict[str, int] = {}

    def count(self, connection: Connection, stems: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that hold each stem; stems that none holds are left out."""
        generation = meta.read_generation(connection)
        with self._lock:
            if self._generation != generation or len(self._counts) > _MOST:
                self._generation, self._counts = generation, {}
            counts = self._counts  # of this generation, also if another thread begins anew meanwhile
        missing = [stem for stem in stems if stem not in counts]
        if missing:
            rows = connection.execute(
                "SELECT term, doc FROM chunks_terms WHERE term IN (SELECT value FROM json_each(?))",
                (json.dumps(missing),),
            )
            found = dict.fromkeys(missing, 0) | cast("dict[str, int]", dict(rows))
            counts.update(found)  # at once: another thread would take a 0 that is not final for the count
        return {stem: counts[stem] for stem in stems if counts[stem]}
