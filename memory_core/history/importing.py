"""Imports the log of the git repository in which a workspace lies, so that history reaches back before the first sync."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import chain, takewhile

from memory_core.config.agent import AgentConfig
from memory_core.errors import HistoryUnavailable
from memory_core.history.git_log import Blobs, Commit, CommittedFile, is_shallow, load_commits, open_blobs
from memory_core.history.history import BEGIN_IT, NONE_YET
from memory_core.history.moments import repair_times
from memory_core.history.store import rows
from memory_core.history.store.purging import Purged, list_marked_lines, load_purged, make_tag, purge, recover_texts
from memory_core.history.store.store import HistoryStore, PastNote, insert
from memory_core.records import FileKey
from memory_core.sources.notes import MAX_NOTE_BYTES
from memory_core.sources.refusals import UNFIT_NAME, make_printable
from memory_core.sources.roots import SUFFIX, find_roots
from memory_core.text.markdown import is_markdown
from memory_core.text.wording import Wording

ORIGIN = "git"
MOST_NAMED = 3  # of paths that are left out for one reason

Name = Callable[[str], tuple[FileKey, bool] | None]


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        commits: Those that became moments.
        versions: Of notes that these moments brought.
        skipped: Contents that are too large, or that the repository does not have.
        purged: Versions from which texts were left out that an earlier purge has taken out of the history.
        left_out: What else the history lacks, one sentence each.
    """

    commits: int
    versions: int
    skipped: int
    purged: int = 0
    left_out: tuple[str, ...] = ()


def import_git(config: AgentConfig) -> Imported:
    """Put the commits before the first moment in front of it, as moments; those that an earlier call has put there are replaced.

    All of it is one transaction: an import that is interrupted has done nothing. Texts that were purged from this history
    stay away, as far as an old version tells where in the commits they stand.

    Raises:
        HistoryUnavailable: The workspace is not under git, git fails, or no sync was recorded yet.
        StoreError: The history cannot be written.
    """
    commits, unreadable = load_commits(config.workspace)
    shallow = is_shallow(config.workspace)
    store = HistoryStore(config.history_path)
    with closing(store), open_blobs(config.workspace) as blobs, store.write() as connection:
        if all(each.origin == ORIGIN for each in rows.load_moments(connection)):
            raise HistoryUnavailable(NONE_YET, action=BEGIN_IT)
        naming = _Naming(config)
        purged = load_purged(connection)
        reader = _CommitReader(naming.find, blobs, _find_purged(commits, naming.find, blobs, purged))
        rows.drop_moments(connection, ORIGIN)
        behind = rows.load_moments(connection)[0]  # a sync, or what was imported in front of the commits
        earlier = _select(commits, naming.find, before_ms=behind.at_ms)
        first = behind.id
        states = reader.read_moments(earlier)
        versions = insert(connection, states, ORIGIN, first - len(earlier), first)
    left_out = [
        *_describe("commits that git cannot read", unreadable), *reader.describe(), *naming.describe(commits)
    ]  # fmt: skip
    if shallow:
        left_out.append("commits before the first one of this shallow clone; to have them: git fetch --unshallow")
    if purged.notes and commits:
        left_out.append(
            "nothing of notes that an earlier purge dropped for their paths: if commits hold them, purge those paths again"
        )
    return Imported(len(earlier), versions, len(reader.missing) + len(reader.large), reader.purged, tuple(left_out))


def _find_purged(commits: list[Commit], name: Name, blobs: Blobs, purged: Purged) -> tuple[Wording, ...]:
    """Return the texts that were purged from this history and that stand in commits, the longest first.

    Where no content as a whole tells a text, since the notes that held it were never committed as they were recorded, lines do.
    """
    found: dict[str, Wording] = {}
    lines: dict[FileKey, set[bytes]] = {}
    tags = purged.tags

    def is_known(text: Wording) -> bool:
        return bool(tags >> make_tag(text) & 1)

    def look(data: bytes, version: bytes) -> None:
        found.update((text.folded, text) for text in recover_texts(data, version, is_known))

    for key, blob in _list_contents(commits, name, purged.versions):
        data = blobs.load(blob, max_bytes=MAX_NOTE_BYTES)
        if isinstance(data, bytes):
            lines.setdefault(key, set()).update(data.splitlines())
            if purge(data, [*found.values()]) not in purged.versions[key]:
                for version in purged.versions[key]:
                    look(data, version)
    for text in found.values():
        tags &= ~(1 << make_tag(text))
    for key, own in lines.items() if tags else ():
        for marked in list_marked_lines(purged.versions[key]):
            for line in own:
                look(line, marked)
    return tuple(sorted(found.values(), key=lambda each: -len(each.folded)))


def _list_contents(commits: list[Commit], name: Name, notes: Collection[FileKey]) -> Iterator[tuple[FileKey, str]]:
    """Yield each content of some notes once, with its note."""
    seen = set()
    for change in chain.from_iterable(commit.changes for commit in commits if notes):
        named = name(change.path)
        if named and named[0] in notes and change.blob is not None and (named[0], change.blob) not in seen:
            seen.add((named[0], change.blob))
            yield named[0], change.blob


def _select(commits: list[Commit], name: Name, *, before_ms: int) -> list[Commit]:
    """Return the commits that changed notes before the first sync, by their repaired times."""
    times = repair_times([commit.at_ms for commit in commits])
    earlier = takewhile(lambda pair: pair[1] < before_ms, zip(commits, times, strict=True))
    return [commit for commit, _ in earlier if any(name(change.path) for change in commit.changes)]


class _CommitReader:
    """Reads the notes of commits.

    Args:
        name: Names them.
        blobs: Their contents.
        texts: Those that are left out of them.

    Attributes:
        missing: Paths whose content the repository does not have.
        large: Paths whose content is too large.
        links: Paths of symbolic links.
        purged: The number of versions without a text that they hold in the repository.
    """

    def __init__(self, name: Name, blobs: Blobs, texts: Sequence[Wording]) -> None:
        self._name = name
        self._blobs = blobs
        self._texts = texts
        self.missing: list[str] = []
        self.large: list[str] = []
        self.links: list[str] = []
        self.purged = 0

    def read_moments(self, commits: Sequence[Commit]) -> Iterator[tuple[int, list[PastNote]]]:
        """Yield (unix milliseconds, notes as they stood from then) of commits."""
        for commit in commits:
            notes = [self._read(change, *named) for change in commit.changes if (named := self._name(change.path))]
            yield commit.at_ms, [note for note in notes if note is not None]

    def describe(self) -> Iterator[str]:
        """Yield a sentence for each reason for which contents are left out."""
        yield from _describe("not in the repository, as in a partial clone", self.missing)
        yield from _describe(f"above {MAX_NOTE_BYTES // 2**20} MB", self.large)
        yield from _describe("symbolic links", self.links)

    def _read(self, change: CommittedFile, key: FileKey, in_vault: bool) -> PastNote | None:
        """Return a note as a commit has left it; None if its path holds a text that is left out."""
        if any(text.stands_in(key.path) for text in self._texts):
            self.purged += change.blob is not None
            return None
        if change.kind == "link":
            self.links.append(change.path)
        data = None if change.blob is None else self._blobs.load(change.blob, max_bytes=MAX_NOTE_BYTES)
        if isinstance(data, str):
            (self.large if data == "large" else self.missing).append(change.path)
            return PastNote(key, in_vault, None)
        if data is not None and self._texts:
            kept = purge(data, self._texts)
            self.purged += kept != data
            data = kept
        return PastNote(key, in_vault, data)


class _Naming:
    """Names the notes of paths below a workspace as syncs do.

    Args:
        config: The agent's.

    Attributes:
        find: See `_find`; looks at each path once.
    """

    def __init__(self, config: AgentConfig) -> None:
        self._roots = find_roots(config)
        self._workspace = posixpath.realpath(config.workspace)
        self._unfit: list[str] = []
        self.find = cache(self._find)

    def describe(self, commits: Sequence[Commit]) -> Iterator[str]:
        """Yield a sentence for unfit names, and for submodules in which notes would lie."""
        yield from _describe("names that are refused: not UTF-8, or with characters that nobody sees", self._unfit)
        modules = {change.path for commit in commits for change in commit.changes if change.kind == "submodule"}
        served = [path for path in modules if self._find(f"{path}/note{SUFFIX}")]
        yield from _describe("submodules, which have commits of their own", served)

    def _find(self, path: str) -> tuple[FileKey, bool] | None:
        """Return the note of a path, and if it lies in a vault; None for what is none today."""
        absolute = posixpath.join(self._workspace, path)
        for root in self._roots:
            relative = root.locate(absolute)
            if relative is None:
                continue
            reason = root.refuse(relative)
            if reason is None:
                return FileKey(root.source, root.show(relative)), root.lies_in_vault(relative)
            if reason == UNFIT_NAME and is_markdown(path):
                self._unfit.append(path)
        return None


def _describe(reason: str, paths: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on paths that are left out, if there are any; the first ones are named."""
    different = sorted(set(paths))
    if different:
        more = f" and {len(different) - MOST_NAMED} more" if len(different) > MOST_NAMED else ""
        yield f"{reason}: {', '.join(map(make_printable, different[:MOST_NAMED]))}{more}"
