"""`History`: old versions of one workspace's notes, recorded at the end of a sync and asked for by time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable, HistoryUnavailable, MemoryCoreError, NotIndexed
from memory_core.history.moments import Moment, Version, find_moment
from memory_core.history.store import rows, store
from memory_core.history.store.store import HistoryStore
from memory_core.records import FileKey, FileStamp, MemoryFile
from memory_core.sources.files import list_files
from memory_core.sources.notes import NoteText, hash_bytes, read_bytes, to_text
from memory_core.text.folding import clean

log = logging.getLogger(__name__)

OFF = "no history is kept: memorySearch.history.enabled is false"
NONE_YET = "there is no history yet: it begins with the first note that is indexed"
BEGIN_IT = "write a note where there is none, and run: memory-core index"
MOST_READ = 200  # versions, to find when a line was replaced: .1 s
MOST_READ_CHARS = 20_000_000  # of those together: .5 s
LEAST_SECONDS = 6 * 3600  # between two looks at the age of versions, but for syncs that somebody asked for


class Extent(NamedTuple):
    """The size of a history.

    Attributes:
        moments: Their number.
        first: Of them; None where there is none.
        last: Of them; None where there is none.
        versions: Their number.
        size_bytes: Of the file.
    """

    moments: int
    first: datetime | None
    last: datetime | None
    versions: int
    size_bytes: int


class History(HistoryStore):
    """The history of one workspace, in its file. The constructor opens nothing. May be used from several threads.

    Args:
        config: The agent's.
        writable: False never makes or changes the file.
        clock: Unix seconds.
    """

    def __init__(self, config: AgentConfig, *, writable: bool = True, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._settings = config.search.history
        super().__init__(config.history_path, writable=writable, clock=clock)
        self._pruned = -math.inf

    @property
    def enabled(self) -> bool:
        """True if syncs are recorded."""
        return self._settings.enabled

    def refuse_disabled(self) -> None:
        """Raise unless syncs are recorded: what was recorded before is not shown any more.

        Raises:
            HistoryUnavailable: It is switched off.
        """
        if not self.enabled:
            raise HistoryUnavailable(
                f"{OFF}; a file of earlier versions may still lie at {self.path}",
                action="set memorySearch.history.enabled to true; or, to be rid of those versions, stop what uses"
                f" memory-core and delete all files whose names begin with {self.path.name}",
            )

    def record(
        self,
        hashes: Mapping[FileKey, bytes],
        generation: str,
        *,
        listed: Iterable[MemoryFile] = (),
        read: Mapping[FileKey, NoteText] | None = None,
    ) -> bool:
        """Record the notes as a sync has left them in the index, as a new moment if any differs from the last one.

        All that changed is one transaction. The caller holds the lock of the syncs. What was deleted before, and is not
        overwritten yet, is found by the way: see `pending`.

        Args:
            hashes: Of all notes of the index.
            generation: Of the index; remembered where True is returned.
            listed: Files as the sync listed them; the folders are listed again where a note that changed is not among them.
            read: Notes as the sync has read them, by (source, path).

        Returns:
            False if a note could not be read as it was indexed, so that the next sync has to record all notes.

        Raises:
            MemoryCoreError: The history cannot be written.
        """
        files = {file.key: file for file in listed}
        was_listed = False

        def load(key: FileKey, content: bytes) -> tuple[bytes, FileStamp, bool] | None:
            nonlocal was_listed
            if key not in files and not was_listed:
                files.update((file.key, file) for file in list_files(self._config).files)
                was_listed = True
            note, file = (read or {}).get(key), files.get(key)
            if note is not None and note.hash == content:
                return note.data, note.stamp, file is not None and file.in_vault
            if file is None:
                return None
            with suppress(FileUnreadable):
                data, stamp = read_bytes(file)
                if hash_bytes(data) == content:
                    return data, stamp, file.in_vault
            return None

        with self.write() as connection:
            self.find_deletions(connection)
            now_ms = int(self._now() * 1000)
            has_changed, is_whole = store.record(connection, hashes, load, generation=generation, now_ms=now_ms)
            if has_changed and store.drop_old(connection, self._settings, now_ms=now_ms):
                self.mark(connection, "dropped")
        return is_whole

    def prune(self, *, asked: bool) -> None:
        """Drop what is older or more than the settings allow.

        Args:
            asked: At once; otherwise only some hours after the last time.
        """
        now = self._now()
        if self._settings.retention_days is None or (not asked and 0 <= now - self._pruned < LEAST_SECONDS):
            return
        with self.write() as connection:
            if store.drop_old(connection, self._settings, now_ms=int(now * 1000)):
                self.mark(connection, "dropped")
        self._pruned = now

    def list_problems(self) -> list[tuple[str, str]]:
        """Return (what is wrong, what can be done) for a file that cannot be used, and for files that were set aside."""
        if not self.enabled:
            return []
        found: list[tuple[str, str]] = []
        try:
            self.measure()
        except MemoryCoreError as error:
            found.append((f"the history cannot be used: {error}", error.action))
        for file in self.list_set_aside():
            action = "delete it, and its -wal and -shm, once you do not need it: nothing else does"
            found.append((f"an earlier history was damaged and set aside: {file}", action))
        return found

    def list_moments(self) -> list[Moment]:
        """Return all moments, the earliest first; none without a history."""
        return self.ask(rows.load_moments, [])

    def find_moment(self, instant: datetime) -> Moment:
        """Return the last moment that is not later than an instant.

        Raises:
            HistoryUnavailable: It is before the first moment or in the future, or no history is kept.
        """
        self.refuse_disabled()
        moments = self.list_moments()
        found = find_moment(moments, int(instant.timestamp() * 1000))
        if found is not None:
            now = max(datetime.fromtimestamp(self._now(), UTC), moments[-1].at)  # a clock may be slow
            if instant > now + timedelta(days=1):  # today is asked for by its end
                raise HistoryUnavailable(
                    f"{show(instant)} is in the future: it is {show(now)}",
                    action="ask for an earlier time, or for none",
                )
            return found
        if not moments:
            raise HistoryUnavailable(NONE_YET, action=BEGIN_IT)
        raise HistoryUnavailable(
            f"nothing is known of {show(instant)}: the history begins at {show(moments[0].at)}",
            action="ask for a later time",
        )

    def list_alive(self, moment: Moment) -> dict[FileKey, Version]:
        """Return the versions that stood at a moment, by note."""
        with self.read() as connection:
            return {version.key: version for version in rows.load_alive(connection, moment.id)}

    def list_versions(self, path: str) -> list[Version]:
        """Return the versions of a note, the oldest first; none of a note that never was."""
        return self.ask(lambda connection: rows.load_versions(connection, path), [])

    def find_version(self, path: str, moment: Moment) -> Version | None:
        """Return the version of a note that stood at a moment; None if there was no such note."""
        stood = (each for each in self.list_versions(path) if each.since <= moment.id)
        return next((each for each in stood if each.until is None or each.until > moment.id), None)

    def find_replacement(self, version: Version, line: str) -> Moment | None:
        """Return the moment from which a line of a version stood in its note no more; None if it does, as far as is recorded.

        Only the next `MOST_READ` versions are looked at, and `MOST_READ_CHARS` of them.
        """
        line, left = clean(line), MOST_READ_CHARS
        with self.read() as connection:
            for each in rows.load_later(connection, version, MOST_READ):
                text = _to_text(each, rows.load_bytes(connection, each.id)).text
                if f"\n{line}\n" not in f"\n{clean(text)}\n":
                    break
                left -= len(text)
                if left < 0:
                    return None
            else:
                return None
        return next(moment for moment in self.list_moments() if moment.id == each.since)

    def load_bytes(self, version: Version) -> bytes:
        """Return the bytes of a version as they were on disk.

        Raises:
            StoreCorrupt: They are damaged.
        """
        with self.read() as connection:
            return rows.load_bytes(connection, version.id)

    def load_text(self, version: Version) -> NoteText:
        """Return a version as it is indexed and shown."""
        return _to_text(version, self.load_bytes(version))

    def load_texts(self, versions: Iterable[Version]) -> Iterator[tuple[Version, NoteText]]:
        """Yield versions with their texts, all of one moment of the file; as `load_text` one by one, in half the time."""
        with self.read() as connection:
            for version in versions:
                yield version, _to_text(version, rows.load_bytes(connection, version.id))

    def list_changes(self) -> dict[Moment, dict[str, bool]]:
        """Return the moments at which notes came, changed or went, the earliest first; none without a history.

        Returns:
            The paths of these notes by moment, sorted; False for those that went. A commit that changed nothing but what is
            left out is a moment, too, and is not among them.
        """
        changed: dict[int, dict[str, bool]] = {}
        versions: list[Version] = self.ask(rows.load_all, [])
        for version in versions:
            changed.setdefault(version.since, {})[version.key.path] = True
            if version.until is not None:
                changed.setdefault(version.until, {}).setdefault(version.key.path, False)
        return {each: dict(sorted(changed[each.id].items())) for each in self.list_moments() if each.id in changed}

    def measure(self) -> Extent:
        """Return the size of the history; all 0 without one."""
        try:
            with self.read() as connection:
                moments = rows.load_moments(connection)
                versions, size = rows.count(connection), rows.measure(connection)
        except NotIndexed:
            return Extent(0, None, None, 0, 0)
        first, last = (moments[0].at, moments[-1].at) if moments else (None, None)
        return Extent(len(moments), first, last, versions, size)


def show(instant: datetime) -> str:
    """Return an instant in local time, as ISO 8601 to the second."""
    return instant.astimezone().isoformat(timespec="seconds")


def _to_text(version: Version, data: bytes) -> NoteText:
    return to_text(data, FileStamp(len(data), version.mtime_ns), in_vault=version.in_vault)
