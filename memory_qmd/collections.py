"""The collections of one agent: the folders that QMD indexes, its configuration, and the files that its rows name.

QMD sweeps folders itself; `memory_core.sources.files` alone decides whether a file may be shown.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from itertools import chain, count, groupby
from pathlib import Path

from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig, NamedFolder
from memory_core.config.environment import expand_home
from memory_core.config.settings import Source
from memory_core.errors import PathRefused
from memory_core.records import MemoryFile
from memory_core.sources import files, pages
from memory_core.sources.files import Listing
from memory_core.sources.roots import NOTES_FOLDER, PACKAGE_TREES, SUFFIX
from memory_core.threads import cached_property
from memory_qmd.config import QmdConfig
from memory_qmd.database import QmdFile, answer_or_nothing
from memory_qmd.home import QmdHome

PREFIX = "qmd/"
ALL_NOTES = "**/*.md"
_DASHED = re.compile(r"(?:[^\w$]|_)+")  # in JavaScript [^\p{L}\p{N}$]+
LONGTERM = "[Mm][Ee][Mm][Oo][Rr][Yy].md"  # a pattern in braces matches nothing in QMD before 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """One folder that QMD indexes.

    Attributes:
        name: In QMD; it ends with the agent's id.
        root: The folder that QMD sweeps, absolute; it need not exist.
        pattern: A glob for the files below it.
        source: "memory", "workspace" or "sessions".
        shown: What a hit's path begins with, before the path relative to the root, as `NamedFolder.shown`; None for the
            agent's own memory, whose paths `memory_core.sources.files` gives.
    """

    name: str
    root: Path
    pattern: str = ALL_NOTES
    source: Source = "memory"
    shown: str | None = None


class Collections:
    """The collections of one agent, from its configuration. Making one reads nothing."""

    def __init__(self, config: AgentConfig, settings: QmdConfig, home: QmdHome) -> None:
        self._config = config
        self._settings = settings
        self._home = home

    @cached_property
    def planned(self) -> tuple[Collection, ...]:
        """All collections, the agent's own memory first; no two have the same name."""
        taken: dict[str, Collection] = {}
        for item in self._plan() if self._config.enabled else ():
            numbered = chain([item.name], (f"{item.name}-{number}" for number in count(2)))
            name = next(each for each in numbered if each not in taken)
            taken[name] = replace(item, name=name)
        return tuple(taken.values())

    def list_present(self) -> tuple[Collection, ...]:
        """List the collections whose folder exists now.

        A folder that is not mounted is left out of QMD's configuration, because QMD would drop all its documents.
        """
        return tuple(item for item in self.planned if item.root.is_dir())

    def fingerprint(self) -> str:
        """Return a value that changes when the database must be rebuilt, because it was built from other collections."""
        return _digest([(item.name, str(item.root), item.pattern) for item in self.planned])

    @cached_property
    def folders(self) -> tuple[NamedFolder, ...]:
        """The folders that are searched besides the agent's own memory: `memory.qmd.paths` and the exported sessions."""
        return tuple(
            NamedFolder(path=item.root, shown=item.shown, pattern=item.pattern, source=item.source)
            for item in self.planned
            if item.shown is not None
        )

    @cached_property
    def served_config(self) -> AgentConfig:
        """The configuration under which `memory_core.sources.files` serves every file of the collections."""
        return replace(self._config, folders=self.folders)

    def list_files(self) -> Listing:
        """List the files of the collections under the paths that hits show, each real file once."""
        if not self._config.enabled:
            return Listing((), ())
        config = self.served_config
        if not self._settings.include_default_memory:
            config = replace(config, search=replace(config.search, sources=(), extra_paths=()))
        return files.list_files(config)

    def _plan(self) -> Iterator[Collection]:
        """Yield the collections under the names that they are to have, unless one is taken."""
        agent, workspace, settings, search = (
            self._config.agent,
            self._config.workspace,
            self._settings,
            self._config.search,
        )
        sources, extra_paths = (search.sources, search.extra_paths) if settings.include_default_memory else ((), ())
        if "memory" in sources:
            yield Collection(name=f"memory-root-{agent}", root=workspace, pattern=LONGTERM)
            yield Collection(name=f"memory-dir-{agent}", root=workspace / NOTES_FOLDER)
        if "workspace" in sources:
            yield Collection(name=f"workspace-{agent}", root=workspace, source="workspace")
        for extra in extra_paths:
            path = resolve_path(workspace, extra.path)
            single = path.suffix == SUFFIX and not path.is_dir()
            root, pattern = (path.parent, path.name) if single else (path, extra.pattern)
            yield Collection(name=_build_name(path.stem, "extra", agent), root=root, pattern=pattern)
        for item in settings.paths:
            root = resolve_path(workspace, item.path)
            name = _build_name(item.name or root.name, "", agent)
            # What hits' paths begin with: relative to the workspace, or the collection's name for a folder outside it.
            inside = os.path.relpath(root, os.path.realpath(workspace))
            above = f"{PREFIX}{name}" if inside.startswith("..") else Path(inside).as_posix()
            yield Collection(name=name, root=root, pattern=item.pattern, shown="" if inside == "." else f"{above}/")
        if settings.sessions.enabled:
            name, root = f"sessions-{agent}", choose_export_dir(self._config, settings, self._home)
            yield Collection(name=name, root=root, source="sessions", shown=f"{PREFIX}{name}/")


class FileLocator:
    """Finds the files that the rows of one search name; remembers the slugs of names, each folder's once.

    Args:
        collections: The agent's.
        database: Tells apart files with one slug, by the SHA-256 of their indexed texts.
    """

    def __init__(self, collections: Collections, database: QmdFile) -> None:
        self._database = database
        self._collections = collections
        self._slugs: dict[str, defaultdict[str, list[str]]] = {}

    def locate(self, collection: str, path: str) -> MemoryFile | None:
        """Return the file that a row names; None if it is gone, or may not be shown.

        Args:
            collection: The collection's name in the row.
            path: The path in the row; it may be a slug.
        """
        item = next((item for item in self._collections.planned if item.name == collection), None)
        if item is None:
            return None
        literal = self._resolve(item, path)
        if literal is not None and literal.real_path.as_posix().endswith(path):  # some file systems ignore case
            return literal
        slugged = self._find_by_slug(item, path.lower())
        found = [file for file in (self._resolve(item, other) for other in slugged) if file is not None]
        if len(found) > 1:
            indexed = answer_or_nothing(lambda: self._database.read_hashes(collection)).get(path)
            found = [file for file in found if _hash_file(file.real_path) == indexed] or found
        return found[0] if found else None

    def _find_by_slug(self, item: Collection, slug: str) -> Sequence[str]:
        if item.name not in self._slugs:
            names = self._slugs[item.name] = defaultdict(list)
            for path in _list_markdown(item.root):
                for one in list_slugs(path):
                    names[one].append(path)
        return self._slugs[item.name].get(slug, ())

    def _resolve(self, item: Collection, path: str) -> MemoryFile | None:
        named = str(item.root / path) if item.shown is None else item.shown + path
        try:
            return pages.resolve(self._collections.served_config, named)
        except PathRefused:
            return None


def choose_export_dir(config: AgentConfig, settings: QmdConfig, home: QmdHome) -> Path:
    """Return the folder into which sessions are exported."""
    folder = settings.sessions.export_dir
    return home.sessions if folder is None else resolve_path(config.workspace, folder)


def resolve_path(workspace: Path, path: str) -> Path:
    """Make a configured path absolute; it may begin with `~`, or be relative to the workspace."""
    return Path(os.path.normpath(Path(os.path.realpath(workspace)) / expand_home(path)))


def fingerprint_files(listing: Listing) -> str:
    """Return a value that changes when a file is added, changed, moved or removed."""
    return _digest(sorted((str(file.real_path), *file.stamp) for file in listing.files))


def _build_name(wanted: str, prefix: str, agent: str) -> str:
    """Join a collection's name from ASCII letters, digits and dashes, with the agent's id at the end."""
    plain = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-") or "notes"
    return "-".join(part for part in (prefix, plain, agent) if part)


def _digest(value: object) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def write_config(home: QmdHome, present: Sequence[Collection], models: Mapping[str, str]) -> bool:
    """Write `index.yml`, the list of collections and models that QMD reads, as JSON, which is YAML.

    Args:
        home: The home whose configuration it is.
        present: The collections.
        models: "embed", "generate" and "rerank"; with one missing, QMD 2.5 and newer rewrite the file.

    Returns:
        True if the file was missing, outdated or edited, and was therefore written.
    """
    if is_config_current(home, present, models):
        return False
    replace_file(home.config_file, _render(present, models))
    return True


def is_config_current(home: QmdHome, present: Sequence[Collection], models: Mapping[str, str]) -> bool:
    """Return True if `index.yml` is what `write_config` would write."""
    try:
        return home.config_file.read_bytes() == _render(present, models)
    except FileNotFoundError:
        return False


def _render(present: Sequence[Collection], models: Mapping[str, str]) -> bytes:
    document = {
        "collections": {item.name: {"path": str(item.root), "pattern": item.pattern} for item in present},
        "models": dict(models),
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _list_markdown(root: Path) -> list[str]:
    """List the relative paths of all Markdown files outside hidden folders, whether they may be shown or not."""
    found: list[str] = []
    for folder, names, entries in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".") and name not in PACKAGE_TREES]
        base = Path(folder).relative_to(root)
        found += [(base / entry).as_posix() for entry in entries if entry.endswith(SUFFIX)]
    return sorted(found)


def _hash_file(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def list_slugs(path: str) -> frozenset[str]:
    """List what versions of QMD before 2.5 may call a file, lower case.

    They lower-case (up to 1.0), turn "___" into "/", every run of anything but letters, digits and "$" into "-", and
    some of them emoji into their code points; the extension stays. `handelize` in QMD's store.ts.
    """
    return frozenset(_slug(spell(path)) for spell in (_spell_symbols, str))


def _slug(path: str) -> str:
    *folders, name = path.replace("___", "/").split("/")
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    cleaned = [_DASHED.sub("-", part).strip("-") for part in (*folders, stem)]
    return ("/".join(filter(None, cleaned)) + dot + extension).lower()


def _spell_symbols(path: str) -> str:
    """Replace every run of symbols (categories So and Sk) by their code points in hexadecimal, joined by dashes."""
    runs = groupby(path, key=lambda char: unicodedata.category(char) in {"So", "Sk"})
    return "".join("-".join(f"{ord(char):x}" for char in run) if symbols else "".join(run) for symbols, run in runs)
