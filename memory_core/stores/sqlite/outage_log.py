"""The record of a provider's outage, kept in the index file."""

from __future__ import annotations

from memory_core.embeddings.outage import Outage
from memory_core.stores.sqlite import Connection, meta
from memory_core.stores.sqlite.store import Store


def read_outage(connection: Connection) -> Outage | None:
    """Return the recorded outage, of whichever provider; None when there is none, or none that can be read."""
    value = meta.get_value(connection, meta.OUTAGE)
    return None if value is None else Outage.from_json(value)


class StoredOutage:
    """Implements `OutageLog` on the index file."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def writable(self) -> bool:
        """False for a store that is opened for reading only."""
        return self._store.writable

    def read(self) -> Outage | None:
        """Return the recorded outage; see `OutageLog`."""
        with self._store.read() as connection:
            return read_outage(connection)

    def write(self, outage: Outage | None) -> None:
        """Replace or remove the record; see `OutageLog`."""
        with self._store.write(content=False) as connection:
            meta.set_values(connection, {meta.OUTAGE: None if outage is None else outage.to_json()})
