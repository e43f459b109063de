"""Imports the log of the git repository in which a workspace lies, so that history reaches back before the first sync."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from itertools import takewhile

from memory_core.config.agent import AgentConfig
from memory_core.errors import HistoryUnavailable
from memory_core.history.git_log import Blobs, Commit, load_commits, open_blobs
from memory_core.history.history import NONE_YET
from memory_core.history.moments import repair_times
from memory_core.history.records import NoteKey
from memory_core.history.store import imports, rows
from memory_core.history.store.imports import PastNote
from memory_core.history.store.store import HistoryStore
from memory_core.lazy_dataclasses import dataclass
from memory_core.sources.notes import MAX_NOTE_BYTES
from memory_core.sources.roots import find_roots

ORIGIN = "git"

Name = Callable[[str], tuple[NoteKey, bool] | None]


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        commits: Those that became moments.
        versions: Of notes that these moments brought.
        skipped: Contents that are too large, or that the repository does not have.
    """

    commits: int
    versions: int
    skipped: int


def import_git(config: AgentConfig) -> Imported:
    """Put the commits before the first sync in front of it, as moments; what an earlier import has put there is replaced.

    All of it is one transaction: an import that is interrupted has done nothing.

    Raises:
        HistoryUnavailable: The workspace is not under git, git fails, or no sync was recorded yet.
        StoreError: The history cannot be written.
    """
    commits = load_commits(config.workspace)
    store = HistoryStore(config.history_path)
    try:
        with open_blobs(config.workspace) as blobs, store.write() as connection:
            moments = [each for each in rows.load_moments(connection) if each.origin != ORIGIN]
            if not moments:
                raise HistoryUnavailable(NONE_YET, action="run: memory-core index")
            rows.drop_moments(connection, ORIGIN)
            name = _make_naming(config)
            earlier = _select(commits, name, before_ms=moments[0].at_ms)
            missing: list[str] = []
            states = _read_moments(earlier, name, blobs, missing)
            first = moments[0].id
            versions = imports.insert(connection, states, ORIGIN, first - len(earlier), first)
            return Imported(len(earlier), versions, len(missing))
    finally:
        store.close()


def _select(commits: list[Commit], name: Name, *, before_ms: int) -> list[Commit]:
    """Return the commits that changed notes before the first sync, by their repaired times."""
    times = repair_times([commit.at_ms for commit in commits])
    earlier = takewhile(lambda pair: pair[1] < before_ms, zip(commits, times, strict=True))
    return [commit for commit, _ in earlier if any(name(change.path) for change in commit.changes)]


def _read_moments(
    commits: list[Commit], name: Name, blobs: Blobs, missing: list[str]
) -> Iterator[tuple[int, list[PastNote]]]:
    """Yield (unix milliseconds, notes as they stood from then) of commits; adds the paths of those that cannot be had."""
    for commit in commits:
        notes = []
        for change in commit.changes:
            if (named := name(change.path)) is None:
                continue
            data = None if change.blob is None else blobs.load(change.blob, max_bytes=MAX_NOTE_BYTES)
            if data is None and change.blob is not None:
                missing.append(change.path)
            notes.append(PastNote(*named, data))
        yield commit.at_ms, notes


def _make_naming(config: AgentConfig) -> Name:
    """Return the function that names the note of a path below the workspace as syncs do; None for what is none today."""
    roots = find_roots(config)
    workspace = posixpath.realpath(config.workspace)
    known: dict[str, tuple[NoteKey, bool] | None] = {}

    def find(path: str) -> tuple[NoteKey, bool] | None:
        absolute = posixpath.join(workspace, path)
        for root in roots:
            relative = root.locate(absolute)
            if relative is not None and root.refuse(relative) is None:
                return NoteKey(root.source, root.show(relative)), root.is_vault
        return None

    def name(path: str) -> tuple[NoteKey, bool] | None:
        if path not in known:
            known[path] = find(path)
        return known[path]

    return name
