"""Deletions from a history for good: a text in old versions, and the bytes that deleted rows leave behind."""

from __future__ import annotations

from typing import Literal

from memory_core.errors import NotIndexed, TextInUse
from memory_core.history.records import Version
from memory_core.history.store import purging, rows
from memory_core.history.store.schema import HISTORY
from memory_core.history.store.store import HistoryStore
from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.wiping import repeat, rewrite_file
from memory_core.text.wording import Wording

EDIT = "take it out of there, then try again"


class Deletions:
    """Deletes a text from old versions, and overwrites what was deleted. May be used from several threads.

    What was deleted is marked in the file in the same transaction, until its bytes are overwritten there and in the index,
    so that another process can finish what this one could not.

    Args:
        store: The history file.

    Attributes:
        pending: True if this process has deleted something, or found it deleted, that is not overwritten yet.
    """

    def __init__(self, store: HistoryStore) -> None:
        self._store = store
        self.pending = False

    def find_text(self, text: str) -> list[Version]:
        """Return the versions that hold a text, in any form of its letters, or whose path does; the oldest first.

        Raises:
            StoreCorrupt: One cannot be unpacked.
        """
        wording = Wording(text)
        try:
            with self._store.read() as connection:
                found = set(purging.find_versions(connection, wording))
                versions = rows.load_all(connection)
        except NotIndexed:
            return []
        return [version for version in versions if version.id in found or wording.stands_in(version.key.path)]

    def purge_text(self, text: str) -> None:
        """Put a mark in the place of a text in all versions, and drop notes whose path holds it; `wipe` overwrites the bytes.

        Raises:
            TextInUse: A note that stands holds the text, or its path does; nothing was changed.
            StoreError: The file cannot be written; nothing was changed.
        """
        wording = Wording(text)
        with self._store.write() as connection:
            standing = {number: key.path for key, (number, _) in rows.load_standing(connection).items()}
            changed = purging.rewrite_versions(connection, wording)
            for path in (standing[number] for number in changed if number in standing):
                raise TextInUse(f"{path} holds the text", action=EDIT)
            for path in filter(wording.stands_in, standing.values()):
                raise TextInUse(f"the path {path} holds the text", action="rename that note, then try again")
            dropped = purging.drop_notes(connection, wording)
            if changed or dropped:
                purging.remember(connection, wording, notes=bool(dropped))
            self.mark(connection, "purged")

    def mark(self, connection: Connection, kind: Literal["dropped", "purged"]) -> None:
        """Remember inside a write transaction that it deletes something."""
        purging.mark(connection, kind)
        self.pending = True

    def load_mark(self) -> purging.Mark | None:
        """Return what was deleted without its bytes having been overwritten; None if nothing was, or without a history."""
        try:
            with self._store.read() as connection:
                return purging.load_mark(connection)
        except NotIndexed:
            return None

    def wipe(self, *, seconds: float) -> bool:
        """Overwrite the bytes of what was deleted; return False while another program reads the file.

        Args:
            seconds: How long to wait for other programs.
        """
        with self._store.maintain() as connection:
            return repeat(lambda: rewrite_file(connection, HISTORY), seconds=seconds)

    def remove_mark(self, done: purging.Mark) -> None:
        """Record that the bytes of a deletion were overwritten, here and in the index."""
        with self._store.write() as connection:
            purging.remove_mark(connection, done)
        self.pending = False
