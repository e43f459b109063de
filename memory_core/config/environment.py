"""Environment variables: the table of those that are read, and `${NAME}` in keys, endpoints and headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from memory_core.config.located import Node, merge, wrap_at
from memory_core.config.normal_form import AgentSections, Sections

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Variable(NamedTuple):
    """One environment variable: its name, the key it stands for ("" for none), and its meaning."""

    name: str
    key: str
    meaning: str


CONFIG = "MEMORY_CORE_CONFIG"
STATE_DIR = "MEMORY_CORE_STATE_DIR"
BACKEND = "MEMORY_CORE_BACKEND"
WORKSPACE = "MEMORY_CORE_WORKSPACE"

# All that load_config reads from the environment besides ${NAME}; an empty value counts as unset.
ENVIRONMENT = (
    Variable(CONFIG, "", "The configuration file, unless one is named."),
    Variable(STATE_DIR, "", "The state directory, unless the host names one; default `~/.clawdbot`."),
    Variable(WORKSPACE, "agents.defaults.workspace", "The workspace of every agent."),
    Variable("MEMORY_CORE_PROVIDER", "memorySearch.provider", "Who makes embeddings."),
    Variable("MEMORY_CORE_MODEL", "memorySearch.model", "The embedding model."),
    Variable(BACKEND, "memory.backend", "The backend."),
)


def read_environment(environ: Mapping[str, str]) -> Sections:
    """Return the normal form of the environment's values."""
    given = {
        item.key: Node(environ[item.name], item.name, "environment") for item in ENVIRONMENT if environ.get(item.name)
    }
    sections = Sections(defaults=AgentSections(workspace=given.get("agents.defaults.workspace")))
    for name in ("provider", "model"):
        if node := given.get(f"memorySearch.{name}"):
            sections.defaults.search = merge(sections.defaults.search, wrap_at([name], node))
    if node := given.get("memory.backend"):
        sections.memory = wrap_at(["backend"], node)
    return sections


def expand(node: Node, environ: Mapping[str, str], unset: Callable[[Node, str], None]) -> Node:
    """Replace `${NAME}` by the environment's value in every string of a tree.

    Args:
        unset: Called with the string's node and the variable's name when it is unset or empty; the string becomes None.
    """
    if isinstance(node.content, dict):
        return replace(node, content={name: expand(child, environ, unset) for name, child in node.content.items()})
    if not isinstance(node.content, str):
        return node
    missing = [name for name in _PLACEHOLDER.findall(node.content) if not environ.get(name)]
    for name in missing:
        unset(node, name)
    value = None if missing else _PLACEHOLDER.sub(lambda found: environ[found[1]], node.content)
    return replace(node, content=value)
