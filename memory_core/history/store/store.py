"""The history file of one workspace: its connections, and what is recorded, imported and dropped in a transaction of them."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from memory_core.config.settings import HistorySettings
from memory_core.errors import StoreCorrupt, TextInUse
from memory_core.history.moments import Version
from memory_core.history.store import rows
from memory_core.history.store.purging import EDIT, make_tag, purge, rewrite_versions, walk
from memory_core.history.store.rows import DamagedBody
from memory_core.records import FileKey, FileStamp
from memory_core.sources.notes import hash_bytes
from memory_core.stores.sqlite.connections import Connection, FileKind
from memory_core.stores.sqlite.database import Database, get_meta, set_meta
from memory_core.stores.sqlite.files import QUICK_BYTES, FileId, identify
from memory_core.text.wording import Wording

log = logging.getLogger(__name__)

MIGRATIONS = (Path(__file__).with_name("history.sql").read_text(encoding="utf-8"),)
HISTORY = FileKind(
    noun="history file",
    application_id=0x4D454D48,  # "MEMH"
    repair="run: memory-core index (it sets the file aside and begins a new one)",
    retry="free some space, then run: memory-core index",
    empty="there is no history yet",
    fill="run: memory-core index",
)

CHECK_SECONDS = 24 * 3600  # between two looks at a whole large file
DAY_MS = 86_400_000
PRUNE_TO = 0.9  # of the largest size, so that not every sync has to drop something


class PastNote(NamedTuple):
    """A note as a moment has left it.

    Attributes:
        key: Of the note.
        in_vault: See `Version`.
        data: Its bytes; None if it is gone, or nobody has them.
    """

    key: FileKey
    in_vault: bool
    data: bytes | None


class HistoryStore(Database):
    """One history file. The constructor opens nothing. May be used from several threads.

    What is deleted is marked in the file in the same transaction, until its bytes are overwritten there and in the index, so that
    another process can finish what this one could not.

    Args:
        path: The file, made by the first write.
        writable: False opens the file for reading only, and never makes, mends or changes it.
        clock: Unix seconds.

    Attributes:
        pending: True if this process has deleted something, or found it deleted, that is not overwritten yet.
    """

    def __init__(self, path: Path, *, writable: bool = True, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path, HISTORY, MIGRATIONS, writable=writable)
        self._now = clock
        self._mended: FileId | None = None  # the file that was looked at for damage, whatever its size
        self.pending = False

    def prepare(self, connection: Connection) -> None:
        """See `Database`."""
        connection.pragma("secure_delete", True)
        connection.set_busy_timeout(500)  # a sync does not wait for a purge; the next one records what it missed

    def mend(self) -> Path | None:
        """Look at a whole file once, and set it aside if it is damaged; return its new path then.

        A large one, of which a look takes 10 ms for each MB, is looked at once a day, whichever process does it.

        Raises:
            StoreError: The file cannot be used, such as another program's.
        """
        file = identify(self.path)
        if not self.writable or file is None or file == self._mended:
            return None
        due = self._is_check_due()
        aside = self.on_damage() if due else None
        if due and aside is None:
            with self.write() as connection:
                set_meta(connection, "checked_at", str(int(self._now())))
        self._checked = self._mended = identify(self.path)
        return aside

    def _is_check_due(self) -> bool:
        if self.path.stat().st_size <= QUICK_BYTES:
            return True
        try:
            with self.read() as connection:
                last = get_meta(connection, "checked_at")
        except StoreCorrupt:
            return True
        return last is None or not 0 <= self._now() - int(last) < CHECK_SECONDS

    def on_damage(self) -> Path | None:
        """Set a damaged file aside, so that the next write begins a new one."""
        found = self.set_aside()
        if found is None:
            return None
        aside, problem = found
        log.warning("%s was damaged (%s); a new history begins, and the old file is %s", self.path, problem, aside.name)
        return aside

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Look at a file before its first use, and tell which versions can still be read when one is damaged."""
        self.check()
        try:
            with super()._watch():
                yield
        except DamagedBody as error:
            action = (
                f"other versions can still be read; to begin anew, move {self.path} away and run: memory-core index"
            )
            raise StoreCorrupt(self.path, f"the history file is damaged: {error}", action=action) from error

    def read_recorded(self) -> str | None:
        """Return the generation of the index whose notes were recorded last; None if none were."""
        return self.ask(lambda connection: get_meta(connection, "recorded"), None)

    def find_text(self, text: str) -> list[Version]:
        """Return the versions that hold a text, in any form of its letters, or whose path does; the oldest first.

        Raises:
            StoreCorrupt: One cannot be unpacked.
        """
        wording = Wording(text)

        def find(connection: Connection) -> list[Version]:
            walked = walk(connection, lambda data: purge(data, [wording]))
            found = {number for number, old, new, _ in walked if old != new}
            return [each for each in rows.load_all(connection) if each.id in found or wording.stands_in(each.key.path)]

        return self.ask(find, [])

    def purge_text(self, text: str) -> None:
        """Put a mark in the place of a text in all versions, and drop notes whose path holds it; `wipe` overwrites the bytes.

        Raises:
            TextInUse: A note that stands holds the text, or its path does; nothing was changed.
            StoreError: The file cannot be written; nothing was changed.
        """
        wording = Wording(text)
        with self.write() as connection:
            standing = {number: key.path for key, (number, _) in rows.load_standing(connection).items()}
            changed = rewrite_versions(connection, wording)
            for path in (standing[number] for number in changed if number in standing):
                raise TextInUse(f"{path} holds the text", action=EDIT)
            for path in filter(wording.stands_in, standing.values()):
                raise TextInUse(f"the path {path} holds the text", action="rename that note, then try again")
            gone = [version.id for version in rows.load_all(connection) if wording.stands_in(version.key.path)]
            rows.drop_versions(connection, gone)
            if changed or gone:
                for key, value in (("purged_tags", 1 << make_tag(wording)), ("purged_notes", int(bool(gone)))):
                    connection.execute(
                        "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) | ?2",
                        (key, str(value)),
                    )
            self.mark(connection, "purged")

    def mark(self, connection: Connection, kind: Literal["dropped", "purged"]) -> None:
        """Remember inside a write transaction that it deletes something; a purge is not forgotten for what was merely dropped."""
        connection.execute(
            "INSERT INTO meta VALUES ('wipe', ?1 || ':' || hex(randomblob(8))) ON CONFLICT DO UPDATE"
            " SET value = iif(value LIKE 'purged:%', 'purged', ?1) || ':' || hex(randomblob(8))",
            (kind,),
        )
        self.pending = True

    def find_deletions(self, connection: Connection) -> None:
        """Look inside a transaction for what any process has deleted, and nobody has overwritten yet: see `pending`."""
        self.pending |= get_meta(connection, "wipe") is not None

    def load_mark(self) -> str | None:
        """Return what tells of a deletion whose bytes were not overwritten: "dropped:" or "purged:" and its number; else None."""
        return self.ask(lambda connection: get_meta(connection, "wipe"), None)

    def remove_mark(self, done: str) -> None:
        """Forget a deletion whose bytes were overwritten, here and in the index; a later one stays."""
        with self.write() as connection:
            connection.execute("DELETE FROM meta WHERE key = 'wipe' AND value = ?", (done,))
        self.pending = False


def record(
    connection: Connection,
    hashes: Mapping[FileKey, bytes],
    load: Callable[[FileKey, bytes], tuple[bytes, FileStamp, bool] | None],
    *,
    generation: str,
    now_ms: int,
) -> tuple[bool, bool]:
    """Add a moment with the notes that differ from the versions that stand, if any does.

    Args:
        connection: Inside a write transaction.
        hashes: Of all notes of the index.
        load: Returns the bytes of a note that have a hash, their file's stamp, and True if it lies in a vault; None if nobody
            has them any more.
        generation: Of the index; remembered if all notes could be read.
        now_ms: The time of the moment, in Unix milliseconds.

    Returns:
        True if a moment was added; and False if a note could not be read as it was indexed.
    """
    standing = rows.load_standing(connection)
    ended = [number for key, (number, _) in standing.items() if key not in hashes]
    moment = rows.add_moment(connection, now_ms, "sync") if ended else None
    if moment is not None:
        rows.end_versions(connection, ended, moment)
    is_whole = True
    for key, content in hashes.items():
        before, stood = standing.get(key, (None, b""))
        if stood == content:
            continue
        found = load(key, content)
        if found is None:
            is_whole = False
            continue
        if moment is None:
            moment = rows.add_moment(connection, now_ms, "sync")
        if before is not None:
            rows.end_versions(connection, [before], moment)
        data, stamp, in_vault = found  # of one note at a time: all of them may be a gigabyte
        rows.add_version(
            connection, key, data, content=content, mtime_ns=stamp.mtime_ns, in_vault=in_vault, since=moment,
            base=before if before is not None else rows.find_base(connection, key, content),
        )  # fmt: skip
    if is_whole:
        set_meta(connection, "recorded", generation)
    return moment is not None, is_whole


def drop_old(connection: Connection, settings: HistorySettings, *, now_ms: int) -> int:
    """Drop what is older or more than the settings allow, but for versions that stand; return the number of those dropped."""
    dropped = 0
    if settings.retention_days is not None:
        begin = now_ms - settings.retention_days * DAY_MS
        earlier = [each.id for each in rows.load_moments(connection) if each.at_ms <= begin]
        if earlier:  # the last of them is the state in which the days to keep begin
            dropped += rows.drop_before(connection, earlier[-1])
    limit = settings.limit_bytes
    while limit and (size := rows.measure(connection)) > limit:
        first = rows.find_freeing(connection, size - int(limit * PRUNE_TO))
        gone = rows.drop_before(connection, first) if first is not None else 0
        if not gone:
            break
        dropped += gone
    return dropped


def insert(
    connection: Connection, moments: Iterable[tuple[int, Iterable[PastNote]]], origin: str, number: int, end: int
) -> int:
    """Insert moments with the notes that changed in them; return the number of versions that they brought.

    Args:
        connection: Inside a write transaction.
        moments: (unix milliseconds, notes that changed), in order.
        origin: Theirs.
        number: The id of the first of them; the others follow.
        end: The id of the moment behind them, which says itself what stood at it.
    """
    standing: dict[FileKey, int] = {}
    versions = 0
    for moment, (at_ms, notes) in enumerate(moments, start=number):
        rows.add_moment(connection, at_ms, origin, moment)
        for key, in_vault, data in notes:
            base = standing.pop(key, None)
            if base is not None:
                rows.end_versions(connection, [base], moment)
            if data is not None:
                standing[key] = rows.add_version(
                    connection, key, data, content=hash_bytes(data), mtime_ns=at_ms * 1_000_000, in_vault=in_vault,
                    since=moment, until=end, base=base,
                )  # fmt: skip
                versions += 1
    return versions
