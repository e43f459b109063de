"""Compares the files on disk with those in the index: what went, what is hidden, what has to be read again."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SessionDeltas
from memory_core.lazy_dataclasses import dataclass
from memory_core.records import MemoryFile
from memory_core.sources import files, session_logs
from memory_core.sources.refusals import SYMLINK, UNFIT_NAME, describe_os_error
from memory_core.sources.roots import find_roots
from memory_core.sync.prepared import IndexedFile

MISSING = describe_os_error(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))  # of an extra path that is gone

_TOLD_BY_EVENTS = frozenset({MISSING, SYMLINK, UNFIT_NAME})  # failures that last until a name or a folder changes


class Sources:
    """One look at all that is to be indexed: notes, then session logs."""

    def __init__(self, config: AgentConfig) -> None:
        self._notes = files.survey(config)
        self._logs = session_logs.list_sessions(config)

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self._notes.found) + len(self._logs.files)

    @property
    def has_failures(self) -> bool:
        """True if something could not be looked at."""
        return bool(self._notes.failures or self._logs.failures)

    @property
    def may_change_unseen(self) -> bool:
        """True if something may change, or may be looked at again, without an event in the folders that are watched."""
        failures = self._notes.failures + self._logs.failures
        return self.has_hard_links or any(failure.reason not in _TOLD_BY_EVENTS for failure in failures)

    @property
    def has_hard_links(self) -> bool:
        """See `Listing.has_hard_links`."""
        return self._notes.has_hard_links or self._logs.has_hard_links

    def digest(self) -> str:
        """Return a text that is another one whenever a file has come, gone or changed."""
        content = blake2b(digest_size=16)
        self._notes.update_digest(content)
        content.update(repr([(file.path, file.stamp) for file in self._logs.files]).encode())
        return content.hexdigest()

    def list(self) -> files.Listing:
        """Return the records of all files."""
        notes, logs = self._notes.list(), self._logs
        return files.Listing(notes.files + logs.files, notes.failures + logs.failures, self.has_hard_links)


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between the files on disk and those in the index.

    Attributes:
        listing: The files on disk.
        gone: Files that the index holds and that are no longer there.
        hidden: Files that the index holds and that cannot be looked at now: nobody knows whether they are gone.
    """

    listing: files.Listing
    gone: list[IndexedFile]
    hidden: list[IndexedFile]
    _indexed: dict[tuple[str, str], IndexedFile]

    @classmethod
    def between(cls, listing: files.Listing, indexed: Iterable[IndexedFile]) -> Changes:
        """Compare a listing with the files that an index holds."""
        by_key = {(row.source, row.path): row for row in indexed}
        present = {(file.source, file.path) for file in listing.files}
        absent = [row for key, row in by_key.items() if key not in present]
        gone: list[IndexedFile] = []
        hidden: list[IndexedFile] = []
        for row in absent:
            (hidden if _is_hidden(row, listing) else gone).append(row)
        return cls(listing, gone, hidden, by_key)

    @classmethod
    def of_paths(
        cls, config: AgentConfig, paths: Collection[str], find_indexed: Callable[[str, str], IndexedFile | None]
    ) -> Changes:
        """Compare some files with the index, and no others.

        Args:
            config: The agent's.
            paths: Real paths of the files.
            find_indexed: Returns the file that the index holds under a source and a path.

        Raises:
            OSError: The system does not say what is there.
        """
        roots, logs = find_roots(config), files.Listing((), ())
        if any(posixpath.dirname(path) == str(config.sessions_dir) for path in paths):
            logs = session_logs.list_sessions(config)
        found: dict[tuple[str, str], MemoryFile] = {}
        rows: dict[tuple[str, str], IndexedFile | None] = {}
        has_hard_links = False
        for path in sorted(paths):
            folder, name = posixpath.split(path)
            if folder == str(config.sessions_dir) and name.endswith(session_logs.SUFFIX):
                keys = [(session_logs.SOURCE, session_logs.SHOWN + name)]
                file = next((log for log in logs.files if log.path == keys[0][1]), None)
                has_hard_links |= logs.has_hard_links
            else:
                file, keys, linked = files.look_up(roots, path)
                has_hard_links |= linked
            rows.update({key: find_indexed(*key) for key in keys})
            if file is not None:
                found[file.source, file.path] = file
        listing = files.Listing(tuple(found.values()), logs.failures, has_hard_links)
        return cls.between(listing, [row for row in rows.values() if row is not None])

    @property
    def is_first(self) -> bool:
        """True where the index holds no file yet."""
        return not self._indexed

    def find_indexed(self, file: MemoryFile) -> IndexedFile | None:
        """Return a listed file as the index holds it; None when it has never met it."""
        return self._indexed.get((file.source, file.path))

    def list_hidden_files(self) -> list[MemoryFile]:
        """Return the hidden files as far as they are known, for a rebuild to take over."""
        return [MemoryFile(source=row.source, path=row.path, real_path=Path(), stamp=row.stamp) for row in self.hidden]

    def select_files(
        self, changed: Sequence[MemoryFile], *, every_session: bool, deltas: SessionDeltas
    ) -> Sequence[MemoryFile]:
        """Return the changed files that are worth reading: of session logs only those that have grown by `deltas`.

        Args:
            changed: See `find_changed`.
            every_session: Return session logs however little they have grown.
            deltas: Growth that makes a session log worth reading.
        """
        return changed if every_session else [file for file in changed if self._is_worth_reading(file, deltas)]

    def find_changed(self) -> list[MemoryFile]:
        """Return the listed files that differ from what the index holds of them."""
        return [file for file in self.listing.files if self._has_changed(file)]

    def _has_changed(self, file: MemoryFile) -> bool:
        row = self.find_indexed(file)
        if row is None or row.error is not None:
            return True
        return row.stamp != file.stamp

    def _is_worth_reading(self, file: MemoryFile, deltas: SessionDeltas) -> bool:
        row = self.find_indexed(file)
        if not session_logs.is_log(file.path) or (row is not None and row.error is not None):
            return True
        return session_logs.has_outgrown(file, row.stamp.size_bytes if row is not None else 0, deltas)


def _is_hidden(row: IndexedFile, listing: files.Listing) -> bool:
    """Return True if a file was not listed because it, or a folder above it, could not be looked at."""
    return any(
        f"{row.path}/".startswith(f"{failure.path.rstrip('/')}/") and failure.reason != MISSING
        for failure in listing.failures
    )
