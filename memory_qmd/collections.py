"""Which folders QMD indexes for an agent, under which names, and which file of the agent a row of QMD's is.

QMD sweeps the folders itself; what it may show is decided by `memory_core.files` alone, on the file that a row names.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b, sha256
from pathlib import Path

from memory_core import files
from memory_core.durable import replace_file
from memory_core.errors import PathRefused
from memory_core.files import Listing
from memory_core.records import MemoryFile
from memory_core.roots import NOTES_FOLDER, PACKAGE_TREES, SUFFIX
from memory_core.settings import AgentConfig, NamedFolder, Source
from memory_qmd.config import QmdConfig
from memory_qmd.home import QmdHome

PREFIX = "qmd/"
ALL_NOTES = "**/*.md"
LONGTERM = "[Mm][Ee][Mm][Oo][Rr][Yy].md"  # braces find nothing in QMD before 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """One collection of QMD's.

    Attributes:
        name: Carries the agent's id.
        root: The folder that QMD sweeps, absolute; it need not exist.
        pattern: Which files below it, as a glob.
        source: "memory", "workspace" or "sessions".
        shown: What stands before the relative path of a hit, as `NamedFolder.shown`; None for the agent's own memory,
            whose paths `memory_core.files` gives.
    """

    name: str
    root: Path
    pattern: str
    source: Source
    shown: str | None = None


class Collections:
    """The collections of one agent, from its configuration. Making one reads nothing."""

    def __init__(self, config: AgentConfig, settings: QmdConfig, home: QmdHome) -> None:
        self._config = config
        self._settings = settings
        self._home = home

    @cached_property
    def planned(self) -> tuple[Collection, ...]:
        """All collections, the agent's own memory first; names differ."""
        plan = [*self._memory(), *self._paths(), *self._sessions()] if self._config.enabled else []
        taken: set[str] = set()
        return tuple(replace(item, name=_free(item.name, taken)) for item in plan)

    def present(self) -> tuple[Collection, ...]:
        """Those whose folder exists now. An unmounted folder is left out, because QMD would drop all its documents."""
        return tuple(item for item in self.planned if item.root.is_dir())

    def fingerprint(self) -> str:
        """Changes when a database that was built from other collections has to be rebuilt."""
        return _digest([(item.name, str(item.root), item.pattern) for item in self.planned])

    @cached_property
    def folders(self) -> tuple[NamedFolder, ...]:
        """`memory.qmd.paths` and the exported sessions: what is searched besides the agent's own memory."""
        return tuple(
            NamedFolder(path=item.root, shown=item.shown, pattern=item.pattern, source=item.source)
            for item in self.planned
            if item.shown is not None
        )

    @cached_property
    def served(self) -> AgentConfig:
        """The configuration under which `memory_core.files` serves all that the collections cover."""
        return replace(self._config, folders=self.folders)

    def listing(self) -> Listing:
        """The files that the collections cover, under the paths that hits show, each real file once."""
        if not self._config.enabled:
            return Listing((), ())
        if self._settings.include_default_memory:
            return files.list_files(self.served)
        alone = replace(self._config.search, sources=(), extra_paths=())
        return files.list_files(replace(self.served, search=alone))

    def locate(self, collection: str, path: str, hashes: Callable[[str], Mapping[str, str]]) -> MemoryFile | None:
        """The file that a row names; None when it is gone, or not to be shown.

        Args:
            collection: As the row says.
            path: The same; may be a slug.
            hashes: Gives a collection's SHA-256 of what was indexed, by path; tells apart files with one slug.
        """
        item = next((item for item in self.planned if item.name == collection), None)
        if item is None:
            return None
        literal = self._shown_or_none(item, path)
        if literal is not None and _spelt_so(literal.real_path, path):
            return literal
        slugged = self._by_slug(item).get(path.lower(), ())
        found = [file for file in (self._shown_or_none(item, other) for other in slugged) if file is not None]
        if len(found) > 1:
            indexed = hashes(collection).get(path)
            found = [file for file in found if _sha256(file.real_path) == indexed] or found
        return found[0] if found else None

    def forget_slugs(self) -> None:
        """Read the names of files anew at the next slug."""
        self._slugs.clear()

    @cached_property
    def _slugs(self) -> dict[str, dict[str, tuple[str, ...]]]:
        return {}

    def _by_slug(self, item: Collection) -> Mapping[str, tuple[str, ...]]:
        if item.name not in self._slugs:
            names: dict[str, tuple[str, ...]] = {}
            for path in _markdown_below(item.root):
                for slug in slugs(path):
                    names[slug] = (*names.get(slug, ()), path)
            self._slugs[item.name] = names
        return self._slugs[item.name]

    def _shown_or_none(self, item: Collection, path: str) -> MemoryFile | None:
        named = str(item.root / path) if item.shown is None else item.shown + path
        try:
            return files.resolve(self.served, named)
        except PathRefused:
            return None

    def _memory(self) -> list[Collection]:
        if not self._settings.include_default_memory:
            return []
        agent, workspace, search = self._config.agent, self._config.workspace, self._config.search
        plan: list[Collection] = []
        if "memory" in search.sources:
            plan.append(Collection(name=f"memory-root-{agent}", root=workspace, pattern=LONGTERM, source="memory"))
            plan.append(
                Collection(
                    name=f"memory-dir-{agent}",
                    root=workspace / NOTES_FOLDER,
                    pattern=ALL_NOTES,
                    source="memory",
                )
            )
        if "workspace" in search.sources:
            plan.append(Collection(name=f"workspace-{agent}", root=workspace, pattern=ALL_NOTES, source="workspace"))
        for extra in search.extra_paths:
            path = absolute(workspace, extra.path)
            single = path.suffix == SUFFIX and not path.is_dir()
            plan.append(
                Collection(
                    name=_name(path.stem, "extra", agent),
                    root=path.parent if single else path,
                    pattern=path.name if single else extra.pattern,
                    source="memory",
                )
            )
        return plan

    def _paths(self) -> list[Collection]:
        plan = []
        for item in self._settings.paths:
            root = absolute(self._config.workspace, item.path)
            name = _name(item.name or root.name, "", self._config.agent)
            plan.append(
                Collection(name=name, root=root, pattern=item.pattern, source="memory", shown=self._shown(root, name))
            )
        return plan

    def _shown(self, root: Path, name: str) -> str:
        """Within the workspace as any note; outside by the collection."""
        inside = os.path.relpath(root, os.path.realpath(self._config.workspace))
        if inside == ".":
            return ""
        return f"{PREFIX}{name}/" if inside.startswith("..") else f"{Path(inside).as_posix()}/"

    def _sessions(self) -> list[Collection]:
        if not self._settings.sessions.enabled:
            return []
        root = export_dir(self._config, self._settings, self._home)
        name = f"sessions-{self._config.agent}"
        return [Collection(name=name, root=root, pattern=ALL_NOTES, source="sessions", shown=f"{PREFIX}{name}/")]


def export_dir(config: AgentConfig, settings: QmdConfig, home: QmdHome) -> Path:
    """Where sessions are exported."""
    folder = settings.sessions.export_dir
    return home.sessions if folder is None else absolute(config.workspace, folder)


def absolute(workspace: Path, path: str) -> Path:
    """A configured path: absolute, `~`, or relative to the workspace."""
    return Path(os.path.normpath(os.path.realpath(workspace) / Path(path).expanduser()))


def write_config(home: QmdHome, present: Sequence[Collection], models: Mapping[str, str]) -> bool:
    """Put `index.yml` in place, as JSON, which is YAML; True when it was not level: missing, older or edited.

    Args:
        home: Whose configuration.
        present: The collections.
        models: "embed", "generate" and "rerank"; with one missing, QMD 2.5 and newer rewrite the file.
    """
    if config_is_level(home, present, models):
        return False
    replace_file(home.config_file, _config(present, models))
    return True


def config_is_level(home: QmdHome, present: Sequence[Collection], models: Mapping[str, str]) -> bool:
    """Whether `index.yml` is what `write_config` would write."""
    try:
        return home.config_file.read_bytes() == _config(present, models)
    except FileNotFoundError:
        return False


def _config(present: Sequence[Collection], models: Mapping[str, str]) -> bytes:
    document = {
        "collections": {item.name: {"path": str(item.root), "pattern": item.pattern} for item in present},
        "models": dict(models),
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def files_fingerprint(listing: Listing) -> str:
    """Changes when a file was made, changed, moved or removed."""
    return _digest(sorted((str(file.real_path), file.size_bytes, file.mtime_ns) for file in listing.files))


def slugs(path: str) -> frozenset[str]:
    """What versions of QMD before 2.5 may call a file, lower case.

    They lower-case (up to 1.0), turn "___" into "/", every run of anything but letters, digits and "$" into "-", and
    some of them emoji into their code points; the extension stays. `handelize` in QMD's store.ts.
    """
    return frozenset(_slug(_hex_symbols(path)) for _hex_symbols in (_spell_symbols, str))


def _slug(path: str) -> str:
    *folders, name = path.replace("___", "/").split("/")
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    cleaned = [_dashed(part) for part in (*folders, stem)]
    return ("/".join(part for part in cleaned if part) + dot + extension).lower()


def _dashed(segment: str) -> str:
    """Runs of anything but letters, digits and "$" as one dash, none at the ends; JavaScript's \\p{L} and \\p{N}."""
    kept = "".join(char if char == "$" or unicodedata.category(char)[0] in "LN" else "-" for char in segment)
    return re.sub("-+", "-", kept).strip("-")


def _spell_symbols(path: str) -> str:
    """Every run of symbols (categories So and Sk) as code points in hexadecimal, joined by dashes."""
    out: list[str] = []
    after_symbol = False
    for char in path:
        symbol = unicodedata.category(char) in {"So", "Sk"}
        out.append(("-" if after_symbol else "") + f"{ord(char):x}" if symbol else char)
        after_symbol = symbol
    return "".join(out)


def _markdown_below(root: Path) -> list[str]:
    """Relative paths of all Markdown files, hidden folders left out; whether one may be shown is asked later."""
    found: list[str] = []
    for folder, names, entries in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".") and name not in PACKAGE_TREES]
        base = Path(folder).relative_to(root)
        found += [(base / entry).as_posix() for entry in entries if entry.endswith(SUFFIX)]
    return sorted(found)


def _spelt_so(real: Path, path: str) -> bool:
    """Whether the file is spelt so, where the file system does not mind case."""
    return real.as_posix().endswith(path)


def _name(wanted: str, prefix: str, agent: str) -> str:
    """A collection's name: ASCII letters, digits and dashes, with the agent's id behind."""
    plain = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-") or "notes"
    return "-".join(part for part in (prefix, plain, agent) if part)


def _free(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    taken.add(candidate)
    return candidate


def _digest(value: object) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def _sha256(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
