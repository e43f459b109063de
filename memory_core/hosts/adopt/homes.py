"""A home is a place where another program keeps its memory. Nothing here writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from memory_core.records import FileFailure, MemoryFile
from memory_core.sources.files import Sweep
from memory_core.sources.roots import PACKAGE_TREES, Root

Layout = Literal["plain", "hermes", "obsidian", "mem0"]


@dataclass(frozen=True, slots=True)
class FoundNote:
    """One file of a home.

    Attributes:
        file: The original.
        target: Its path below `memory/imports/`, POSIX, of a Markdown file.
        layout: The way in which it is written, which a copy turns into plain Markdown.
    """

    file: MemoryFile
    target: str
    layout: Layout = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The memory of one program in one place.

    Attributes:
        source: The folder of its copies below `memory/imports/`, such as "claude-code".
        title: The program's name.
        path: The folder or file in which it was found.
        notes: Its files, sorted by target.
        served: The files and folders that hold the notes, for `extraPaths`; none where notes are no Markdown.
        workspaces: The workspace of each agent, by id, for a program that has such; else empty.
        remarks: What else was found, a few words each.
        failures: Files that cannot be read.
    """

    source: str
    title: str
    path: Path
    notes: tuple[FoundNote, ...]
    served: tuple[Path, ...] = ()
    workspaces: Mapping[str, Path] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    failures: tuple[FileFailure, ...] = ()


class NoteCollector:
    """Collects the Markdown files of one home, each once, under the refusals that hold for any folder of notes."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._taken: set[str] = set()
        self._seen: set[Path] = set()
        self.notes: list[FoundNote] = []
        self.failures: list[FileFailure] = []

    def add(self, path: Path, below: str = "", *, layout: Layout = "plain") -> int:
        """Collect a file, or all Markdown files in a folder.

        Args:
            path: A Markdown file or a folder; one that is missing, or a symbolic link, holds nothing.
            below: The folder of the copies, below the home's own.
            layout: See `FoundNote`.

        Returns:
            The number of files that were found and had not been collected yet.
        """
        before = len(self.notes)
        for relative, file in self._list(path):
            if file.real_path not in self._seen:
                self._seen.add(file.real_path)
                self.notes.append(FoundNote(file, self._choose_target(below, relative), layout))
        return len(self.notes) - before

    def _list(self, path: Path) -> Iterator[tuple[str, MemoryFile]]:
        if path.is_symlink() or not path.exists():
            return
        is_file, real = path.is_file(), os.path.realpath(path)
        skipped = frozenset() if is_file else PACKAGE_TREES
        root = Root(source="memory", configured=str(path), real=real, shown="", is_file=is_file, skipped=skipped)
        sweep = Sweep()
        sweep.add(root)
        self.failures += sweep.failures
        for file in sorted((each.file for each in sweep), key=lambda each: each.path):
            yield (path.name if is_file else file.path), file

    def _choose_target(self, below: str, relative: str) -> str:
        parts = [self._source, *filter(None, [*below.split("/"), *relative.split("/")])]
        wanted = "/".join(make_fit(part) for part in parts)
        stem, target, number = wanted.removesuffix(".md"), wanted, 2
        while target.lower() in self._taken:  # two projects of one name, on file systems that fold case
            target, number = f"{stem}-{number}.md", number + 1
        self._taken.add(target.lower())
        return target


def make_fit(name: str) -> str:
    """Return a name under which a folder or file is indexed: not hidden, and without characters that no path should have."""
    kept = "".join("-" if ord(each) < 32 or each in '\\/:*?"<>|' else each for each in name).strip()
    return kept if kept[:1] not in {"", "."} else f"_{kept.lstrip('.')}"


def shorten_home(path: Path) -> str:
    """Return a path with `~` for the home folder, as people write it."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}".removesuffix("/.")
    except (ValueError, RuntimeError):  # elsewhere, or this user has no home folder
        return str(path)
