"""The configuration of one agent, resolved, which the rest of memory-core is given; and why memory is off for it. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2s
from pathlib import Path
from typing import Any

from memory_core.config.settings import (
    NO_SLOT,
    SLOT_ID,
    Compaction,
    MemorySettings,
    ProviderAccount,
    SearchSettings,
    Source,
)
from memory_core.errors import InvalidArgument, MemoryOff

GET_LINES = 120
JOURNAL_SUFFIX = ".journal"  # of the folder with the journal of turns
# Layers: of the session's workspace, of the person, of one repository.
OWN, PERSON, LOCAL = "project", "person", "local"
AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE | re.ASCII)


def normalize_agent_id(agent_id: object) -> str:
    """Return an agent's id in lower case; it is safe in a path.

    Raises:
        InvalidArgument: It is not `[a-z0-9][a-z0-9_-]{0,63}` after lower-casing.
    """
    if not isinstance(agent_id, str) or not AGENT_ID.fullmatch(agent_id):
        raise InvalidArgument(
            "agent",
            "expected at most 64 letters, digits, - and _, the first a letter or digit",
            action="Use an id such as main.",
        )
    return agent_id.lower()


def make_workspace_key(workspace: Path) -> str:
    """Return eight hex digits that tell a workspace from others by its real path, whatever links lead to it."""
    return blake2s(os.fsencode(os.path.realpath(workspace)), digest_size=4).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFolder:
    """A folder whose Markdown is served under a name of its own. Backends add them; no document can.

    Attributes:
        path: Absolute; need not exist.
        shown: The prefix of paths within it, such as "qmd/recipes-main/"; "" or ends with a slash.
        pattern: The files below it that are served, as a glob relative to it.
        source: As `MemoryFile.source`.
    """

    path: Path
    shown: str
    pattern: str = "**/*.md"
    source: Source = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project that was found from the working folder, as nobody named a workspace.

    Attributes:
        folder: That of its notes; the main worktree of its repository where it has none yet.
        repository: The main worktree of its git repository; None if it lies in none.
        private: None of its facts leaves for the person's layer without review.
        writes: True if agents may write its notes though others get them; None if the project does not say.
    """

    folder: Path
    repository: Path | None = None
    private: bool = False
    writes: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """The configuration of one agent, resolved; `load_config(...).agent(id)` returns it, and other rooms are given it.

    Attributes:
        agent: The agent's id, lower case.
        workspace: Absolute; need not exist.
        state_dir: Absolute; need not exist.
        store_path: The index file, absolute; no other agent has the same.
        slot: The plugin id in the memory slot, lower case: ours is "memory-core", "none" is off.
        backend_sections: `memory.<backend name>` as it was read, by backend name; its plugin validates it.
        providers: `models.providers`, by provider name.
        dialect: The dialect of the document: "defaults", "json5", "json5-entries", "toml" or "orbit".
        warnings: Values that were read but left out, one sentence each.
        folders: Folders that the chosen backend searches besides; the selector fills them in for builtin.
        is_found: Nobody named the workspace.
        is_own: The workspace is the person's own: the default one, or the one that the configuration's file names.
        project: The project that was found; None where a workspace was named, and where the default one exists and serves.
        layer: The name of this layer, by which its paths begin; "" for the workspace of a session.
        layers: The layers that are searched besides, of which some may not exist yet.
    """

    agent: str
    workspace: Path
    state_dir: Path
    store_path: Path
    slot: str = SLOT_ID
    memory: MemorySettings = field(default_factory=MemorySettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    compaction: Compaction = field(default_factory=Compaction)
    providers: Mapping[str, ProviderAccount] = field(default_factory=dict)
    backend_sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    dialect: str = "defaults"
    warnings: tuple[str, ...] = ()
    folders: tuple[NamedFolder, ...] = ()
    is_found: bool = False
    is_own: bool = False
    project: Project | None = None
    layer: str = ""
    layers: tuple[AgentConfig, ...] = ()

    @property
    def enabled(self) -> bool:
        """True if memory is on for this agent: the slot is ours, and `memorySearch.enabled` is true."""
        return self.slot == SLOT_ID and self.search.enabled

    @property
    def get_lines(self) -> int:
        """Lines that memory_get reads when the caller gives no number: 50 in the Orbit dialect, else 120."""
        return 50 if self.dialect == "orbit" else GET_LINES

    def find_layer(self, path: str) -> tuple[AgentConfig, str]:
        """Return the layer to which a path belongs, and the path within it; that of no other layer is the session's own."""
        name, mark, rest = path.partition(":")
        if mark and name == OWN and self.layers:
            return self, rest
        return next(((each, rest) for each in self.layers if mark and each.layer == name), (self, path))

    def find_named(self, layer: str) -> AgentConfig | None:
        """Return the layer of this name; None if this session does not see one."""
        return next((each for each in self.layers if each.layer == layer), None)

    def show(self, path: str) -> str:
        """Return a path within this layer as a session names it."""
        return f"{self.layer}:{path}" if self.layer else path

    @property
    def has_own_store(self) -> bool:
        """True if the index is at its default path: in a folder of ours, under a name of ours."""
        return self.search.store.path is None and self.store_path.parent == self.state_dir / "memory-core"

    @property
    def items_path(self) -> Path:
        """The file of this agent's items, beside the index: one for each project that was found, and one for all else."""
        name = self.agent if self.project is None else f"{self.agent}-{make_workspace_key(self.project.folder)}"
        return self.store_path.parent / f"{name}.items.sqlite"

    @property
    def activity_path(self) -> Path:
        """The file of the activity log, beside the index; no other agent or workspace has the same."""
        return self.store_path.parent / f"{self.agent}-{make_workspace_key(self.workspace)}.activity.jsonl"

    @property
    def history_path(self) -> Path:
        """The file of old versions of this workspace's notes, beside the index; no other agent or workspace has the same."""
        return self.store_path.parent / f"{self.agent}-{make_workspace_key(self.workspace)}.history.sqlite"

    @property
    def tidy_path(self) -> Path:
        """The file of what `tidy` proposes for this workspace, beside the index; no other agent or workspace has the same."""
        return self.store_path.parent / f"{self.agent}-{make_workspace_key(self.workspace)}.tidy.sqlite"

    @property
    def sharing_dir(self) -> Path:
        """The folder of what `sync` keeps for this workspace, beside the index; no other agent or workspace has the same."""
        return self.store_path.parent / f"{self.agent}-{make_workspace_key(self.workspace)}.sharing"

    @property
    def sessions_dir(self) -> Path:
        """The folder in which the host keeps this agent's session logs and `sessions.json`."""
        return self.state_dir / "agents" / self.agent / "sessions"

    @property
    def journal_dir(self) -> Path:
        """The folder of this agent's journal of turns, which a private project has for itself; no other agent has the same."""
        folder = self.state_dir / "memory-core" / f"{self.agent}{JOURNAL_SUFFIX}"
        if self.project is None or not self.project.private:
            return folder
        return folder / f"{make_workspace_key(self.project.folder)}{JOURNAL_SUFFIX}"

    @property
    def shown_dir(self) -> Path:
        """The folder in which hooks of this agent remember what each session has been shown."""
        return self.state_dir / "memory-core" / f"{self.agent}.shown"

    @property
    def session_folders(self) -> tuple[Path, ...]:
        """The folders of the session logs that are indexed, below the state folder; none if no sessions are a source."""
        if self.layer:
            return ()
        logs = (self.sessions_dir,) if "sessions" in self.search.sources else ()
        return (*logs, self.journal_dir) if self.search.items.capture.journal else logs


def explain_off(config: AgentConfig) -> MemoryOff | None:
    """Return why memory is off for an agent, and how it is switched on; None when it is on."""
    if config.enabled:
        return None
    if config.slot == SLOT_ID:
        if config.dialect == "orbit":
            return MemoryOff("the file has no table [embedding]", action="add [embedding] to the file")
        return MemoryOff("memorySearch.enabled is false", action="set memorySearch.enabled to true")
    action = f'set plugins.slots.memory to "{SLOT_ID}"'
    if not config.search.enabled:
        action += " and add [embedding]" if config.dialect == "orbit" else " and memorySearch.enabled to true"
    if config.slot == NO_SLOT:
        return MemoryOff(f'plugins.slots.memory is "{NO_SLOT}"', action=action)
    return MemoryOff(f"plugins.slots.memory names another plugin, {config.slot!r}", action=action)


def refuse_off(config: AgentConfig) -> None:
    """Raise unless memory is on for an agent.

    Raises:
        MemoryOff: It is off.
    """
    reason = explain_off(config)
    if reason is not None:
        raise reason
