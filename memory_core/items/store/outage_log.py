"""The record of a provider's outage, kept in the items file."""

from __future__ import annotations

from memory_core.embeddings.outage import Outage
from memory_core.errors import NotIndexed
from memory_core.items.store.store import ItemStore


class ItemOutageLog:
    """Implements `OutageLog` on the items file."""

    def __init__(self, store: ItemStore) -> None:
        self._store = store

    @property
    def writable(self) -> bool:
        """False for a store that is opened for reading only, or has no file yet."""
        return self._store.writable and self._store.exists()

    def read(self) -> Outage | None:
        """Return the recorded outage; see `OutageLog`."""
        try:
            with self._store.read() as connection:
                value = connection.execute("SELECT value FROM meta WHERE key = 'outage'").get
        except NotIndexed:
            return None
        return None if value is None else Outage.from_json(str(value))

    def write(self, outage: Outage | None) -> None:
        """Replace or remove the record; see `OutageLog`."""
        with self._store.write(content=False) as connection:
            if outage is None:
                connection.execute("DELETE FROM meta WHERE key = 'outage'")
            else:
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('outage', ?)", (outage.to_json(),))
