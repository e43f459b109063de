"""The normal form of every dialect, of the environment and of the flags."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory_core.config.located import Node
from memory_core.errors import InvalidArgument

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


def make_empty() -> Node:
    """Make an object in which nothing is given."""
    return Node({}, "", "default")


@dataclass(slots=True)
class AgentSections:
    """The sections of one agent, or of the defaults for all; empty objects where nothing is given."""

    workspace: Node | None = None
    search: Node = field(default_factory=make_empty)
    compaction: Node = field(default_factory=make_empty)


@dataclass(slots=True)
class Sections:
    """The normal form of a document, of the environment or of the flags.

    Attributes:
        dialect: "defaults" when there is no document, else "json5", "json5-entries", "toml" or "orbit".
        slot: `plugins.slots.memory`.
        memory: `memory` without `search` and the sections of backends.
        backends: `memory.<backend name>` by name.
        providers: `models.providers` by name, our keys only.
        defaults: For every agent.
        agents: By agent id, in the order of the document.
    """

    dialect: str = "defaults"
    slot: Node | None = None
    memory: Node = field(default_factory=make_empty)
    backends: dict[str, Node] = field(default_factory=dict)
    providers: dict[str, Node] = field(default_factory=dict)
    defaults: AgentSections = field(default_factory=AgentSections)
    agents: dict[str, AgentSections] = field(default_factory=dict)

    def agent(self, agent_id: str) -> AgentSections:
        """Return an agent's own sections; empty ones when the document does not name it."""
        return self.agents.get(agent_id) or AgentSections()
