"""Compares the files on disk with those in the index: which are gone, which cannot be looked at, which have to be read again."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SessionDeltas
from memory_core.errors import NotIndexed
from memory_core.records import FileFailure, MemoryFile
from memory_core.sources import session_logs
from memory_core.sources.files import Listing, Survey
from memory_core.sources.refusals import (
    FOLDER,
    HIDDEN,
    NO_FILE,
    NOT_HERE,
    NOT_MARKDOWN,
    SYMLINK,
    UNFIT_NAME,
    describe_os_error,
)
from memory_core.sources.roots import WHOLE
from memory_core.stores.interface import Store, SyncReader
from memory_core.stores.values import IndexedFile

MISSING, NO_FOLDER = (  # of an extra path that is gone, and of a folder in whose place something else is
    describe_os_error(OSError(number, os.strerror(number))) for number in (errno.ENOENT, errno.ENOTDIR)
)

# Where one of these is said of a file or a folder above it, the file is gone for sure, or left out.
_NOT_THERE = frozenset({MISSING, NO_FOLDER, SYMLINK, FOLDER, NO_FILE, NOT_MARKDOWN, UNFIT_NAME, HIDDEN})
_TOLD_BY_EVENTS = frozenset(
    {MISSING, SYMLINK, UNFIT_NAME, HIDDEN, NOT_HERE}
)  # failures that last until a name or a folder changes


class Changes:
    """The difference between the files on disk and those that an index holds.

    Args:
        notes: One look at all notes.
        logs: The session logs.
        reader: Of the index.

    Attributes:
        changed: The files on disk that differ from what the index holds of them, or that may: notes, then session logs.
        count: How many files on disk were looked at.
        gone: Files that the index holds and that are no longer there. One that cannot be looked at now is not among them:
            nobody knows whether it is gone.
        failures: The folders and files that could not be looked at.
        may_change_unseen: Something may change, or become readable, without an event in the folders that are watched.
        is_first: The index holds no file yet.
    """

    def __init__(self, notes: Survey, logs: Listing, reader: SyncReader) -> None:
        self._notes, self._logs = notes, logs
        self._indexed = {row.key: row for row in reader.list_files()}
        self.count, self.is_first = len(notes) + len(logs.files), not self._indexed
        self.failures = notes.failures + logs.failures
        is_told = all(failure.reason in _TOLD_BY_EVENTS for failure in self.failures)
        self.may_change_unseen = notes.has_hard_links or logs.has_hard_links or not is_told
        stamps = {key: row.stamp if row.error is None else None for key, row in self._indexed.items()}
        self.changed = notes.take_changed(stamps)
        self.changed += [log for log in logs.files if stamps.pop(log.key, None) != log.stamp]
        absent = (self._indexed[key] for key in sorted(stamps))
        self.gone = [row for row in absent if not _is_hidden(row, self.failures)]

    def list_files(self) -> Sequence[MemoryFile]:
        """Return the records of all files."""
        return self._notes.list().files + self._logs.files

    def find_indexed(self, file: MemoryFile) -> IndexedFile | None:
        """Return a changed file as the index holds it; None when it has never met it."""
        return self._indexed.get(file.key)

    def select_files(self, *, every_session: bool, deltas: SessionDeltas) -> Sequence[MemoryFile]:
        """Return the changed files that are worth reading: of session logs only those that have grown by `deltas`.

        Args:
            every_session: Return session logs however little they have grown.
            deltas: Growth that makes a session log worth reading.
        """
        if every_session:
            return self.changed
        selected = []
        for file in self.changed:
            row = self.find_indexed(file)
            has_failed = row is not None and row.error is not None
            indexed_bytes = 0 if row is None else row.stamp.size_bytes
            if (
                has_failed
                or not session_logs.is_log(file.path)
                or session_logs.has_outgrown(file, indexed_bytes, deltas)
            ):
                selected.append(file)
        return selected


def wants_sync(config: AgentConfig, store: Store, session_key: str) -> bool:
    """Return True if a session that was written to is worth indexing again; also where its log is not known.

    Args:
        config: The agent's; False where it indexes no sessions.
        store: The agent's index.
        session_key: The host's name of the session.
    """
    if not config.session_folders:
        return False
    file = session_logs.find_log(config, session_key)
    if file is None:
        return True
    row = None
    with suppress(NotIndexed), store.read() as reader:
        row = reader.find_file(*file.key)
    if row is not None and row.stamp == file.stamp:
        return False
    return session_logs.has_outgrown(file, 0 if row is None else row.stamp.size_bytes, config.search.sync.sessions)


def _is_hidden(row: IndexedFile, failures: Sequence[FileFailure]) -> bool:
    """Return True if a file was not listed because it, or a folder above it, could not be looked at."""
    return any(
        (failure.path == WHOLE or f"{row.path}/".startswith(f"{failure.path.rstrip('/')}/"))
        and failure.reason not in _NOT_THERE
        for failure in failures
    )
