"""The normal form that every dialect, the environment and the flags are read into."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory_core.config.nodes import Node
from memory_core.errors import InvalidArgument

AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE | re.ASCII)


def agent_key(agent_id: str) -> str:
    """An agent's id in lower case, safe in a path.

    Raises:
        InvalidArgument: It is not `[a-z0-9][a-z0-9_-]{0,63}` after lower-casing.
    """
    if not AGENT_ID.fullmatch(agent_id):
        raise InvalidArgument(
            "agent",
            "expected at most 64 letters, digits, - and _, the first a letter or digit",
            action="Use an id such as main.",
        )
    return agent_id.lower()


def empty() -> Node:
    """An object in which nothing is given."""
    return Node({}, "", "default")


@dataclass(slots=True)
class AgentSections:
    """What one agent, or the defaults of all, is given; an empty object where nothing is."""

    workspace: Node | None = None
    search: Node = field(default_factory=empty)
    compaction: Node = field(default_factory=empty)


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
    memory: Node = field(default_factory=empty)
    backends: dict[str, Node] = field(default_factory=dict)
    providers: dict[str, Node] = field(default_factory=dict)
    defaults: AgentSections = field(default_factory=AgentSections)
    agents: dict[str, AgentSections] = field(default_factory=dict)

    def agent(self, agent_id: str) -> AgentSections:
        """An agent's own sections, empty when it has none."""
        return self.agents.get(agent_id) or AgentSections()
