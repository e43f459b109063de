"""The collections of one agent: the folders that QMD indexes, and their names."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from memory_core.config.agent import AgentConfig, NamedFolder
from memory_core.config.environment import expand_home
from memory_core.config.settings import Source
from memory_core.sources import files
from memory_core.sources.files import Listing
from memory_core.sources.roots import NOTES_FOLDER, SUFFIX
from memory_qmd.config import QmdConfig
from memory_qmd.home import QmdHome

PREFIX = "qmd/"
ALL_NOTES = "**/*.md"
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
        """All collections, the agent's own memory first; no two have the same name."""
        plan = [*self._plan_memory(), *self._plan_paths(), *self._plan_sessions()] if self._config.enabled else []
        taken: set[str] = set()
        return tuple(replace(item, name=_make_unique(item.name, taken)) for item in plan)

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
        if self._settings.include_default_memory:
            return files.list_files(self.served_config)
        alone = replace(self._config.search, sources=(), extra_paths=())
        return files.list_files(replace(self.served_config, search=alone))

    def _plan_memory(self) -> list[Collection]:
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
            path = resolve_path(workspace, extra.path)
            single = path.suffix == SUFFIX and not path.is_dir()
            plan.append(
                Collection(
                    name=_build_name(path.stem, "extra", agent),
                    root=path.parent if single else path,
                    pattern=path.name if single else extra.pattern,
                    source="memory",
                )
            )
        return plan

    def _plan_paths(self) -> list[Collection]:
        plan = []
        for item in self._settings.paths:
            root = resolve_path(self._config.workspace, item.path)
            name = _build_name(item.name or root.name, "", self._config.agent)
            plan.append(
                Collection(name=name, root=root, pattern=item.pattern, source="memory", shown=self._prefix(root, name))
            )
        return plan

    def _prefix(self, root: Path, name: str) -> str:
        """Return what hits' paths begin with: relative to the workspace, or the collection's name for a folder outside it."""
        inside = os.path.relpath(root, os.path.realpath(self._config.workspace))
        if inside == ".":
            return ""
        return f"{PREFIX}{name}/" if inside.startswith("..") else f"{Path(inside).as_posix()}/"

    def _plan_sessions(self) -> list[Collection]:
        if not self._settings.sessions.enabled:
            return []
        root = choose_export_dir(self._config, self._settings, self._home)
        name = f"sessions-{self._config.agent}"
        return [Collection(name=name, root=root, pattern=ALL_NOTES, source="sessions", shown=f"{PREFIX}{name}/")]


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


def _make_unique(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    taken.add(candidate)
    return candidate


def _digest(value: object) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()
