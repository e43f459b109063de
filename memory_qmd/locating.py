"""The file on disk that a row of QMD's names, if it may be shown.

QMD sweeps folders itself; whether a file may be shown is decided by `memory_core.sources.files` alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from memory_core.errors import PathRefused
from memory_core.records import MemoryFile
from memory_core.sources import pages
from memory_core.sources.roots import PACKAGE_TREES, SUFFIX
from memory_qmd.collections import Collection, Collections
from memory_qmd.slugs import list_slugs


class FileLocator:
    """Finds the files of one agent's collections; remembers the slugs of their names."""

    def __init__(self, collections: Collections) -> None:
        self._collections = collections
        self._slugs: dict[str, dict[str, tuple[str, ...]]] = {}

    def locate(self, collection: str, path: str, read_hashes: Callable[[str], Mapping[str, str]]) -> MemoryFile | None:
        """Return the file that a row names; None if it is gone, or may not be shown.

        Args:
            collection: The collection's name in the row.
            path: The path in the row; it may be a slug.
            read_hashes: Reads the SHA-256 of a collection's indexed texts, by path; tells apart files with one slug.
        """
        item = next((item for item in self._collections.planned if item.name == collection), None)
        if item is None:
            return None
        literal = self._resolve(item, path)
        if literal is not None and _is_spelled(literal.real_path, path):
            return literal
        slugged = self._find_by_slug(item, path.lower())
        found = [file for file in (self._resolve(item, other) for other in slugged) if file is not None]
        if len(found) > 1:
            indexed = read_hashes(collection).get(path)
            found = [file for file in found if _hash_file(file.real_path) == indexed] or found
        return found[0] if found else None

    def forget_slugs(self) -> None:
        """Read the names of files anew at the next slug."""
        self._slugs.clear()

    def _find_by_slug(self, item: Collection, slug: str) -> tuple[str, ...]:
        if item.name not in self._slugs:
            names: dict[str, tuple[str, ...]] = {}
            for path in _list_markdown(item.root):
                for one in list_slugs(path):
                    names[one] = (*names.get(one, ()), path)
            self._slugs[item.name] = names
        return self._slugs[item.name].get(slug, ())

    def _resolve(self, item: Collection, path: str) -> MemoryFile | None:
        named = str(item.root / path) if item.shown is None else item.shown + path
        try:
            return pages.resolve(self._collections.served_config, named)
        except PathRefused:
            return None


def _list_markdown(root: Path) -> list[str]:
    """List the relative paths of all Markdown files outside hidden folders, whether they may be shown or not."""
    found: list[str] = []
    for folder, names, entries in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".") and name not in PACKAGE_TREES]
        base = Path(folder).relative_to(root)
        found += [(base / entry).as_posix() for entry in entries if entry.endswith(SUFFIX)]
    return sorted(found)


def _is_spelled(real: Path, path: str) -> bool:
    """Return True if the file's own name is spelled like this; some file systems ignore case."""
    return real.as_posix().endswith(path)


def _hash_file(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
