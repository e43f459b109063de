"""The configuration of one agent, resolved: the value that the rest of memory-core is given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2s
from pathlib import Path
from typing import Any

from memory_core.config.names import SLOT_ID
from memory_core.config.settings import Compaction, MemorySettings, ProviderAccount, SearchSettings, Source

GET_LINES = 120


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

    @property
    def enabled(self) -> bool:
        """True if memory is on for this agent: the slot is ours, and `memorySearch.enabled` is true."""
        return self.slot == SLOT_ID and self.search.enabled

    @property
    def get_lines(self) -> int:
        """Lines that memory_get reads when the caller gives no number: 50 in the Orbit dialect, else 120."""
        return 50 if self.dialect == "orbit" else GET_LINES

    @property
    def items_path(self) -> Path:
        """The file of this agent's items, beside the index; no other agent has the same."""
        return self.store_path.parent / f"{self.agent}.items.sqlite"

    @property
    def activity_path(self) -> Path:
        """The file of the activity log, beside the index; no other agent or workspace has the same."""
        return self.store_path.parent / f"{self.agent}-{make_workspace_key(self.workspace)}.activity.jsonl"

    @property
    def history_path(self) -> Path:
        """The file of old versions of this workspace's notes, beside the index; no other agent or workspace has the same."""
        return self.store_path.parent / f"{self.agent}-{make_workspace_key(self.workspace)}.history.sqlite"

    @property
    def sessions_dir(self) -> Path:
        """The folder in which the host keeps this agent's session logs and `sessions.json`."""
        return self.state_dir / "agents" / self.agent / "sessions"
