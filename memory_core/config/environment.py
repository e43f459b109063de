"""The environment: the table of variables, `${NAME}` and secret references in keys, endpoints and headers, and `~`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from memory_core.config.located import AgentSections, Node, Sections, merge, to_plain, wrap_at
from memory_core.errors import ConfigError, ConfigProblem

# As in OpenClaw: `${NAME}`, `${NAME:-default}`, and `$${NAME}` for the text `${NAME}`; `$NAME` if nothing else is written.
_PLACEHOLDER = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^${}]*))?\}")
_SHORT = re.compile(r"\A\$([A-Z][A-Z0-9_]*)\Z")
REF_SOURCES = ("env", "file", "exec", "store")  # of OpenClaw's secret references


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


@dataclass(frozen=True, slots=True)
class Variables:
    """The values to which `${NAME}` and secret references of a document lead.

    Attributes:
        environ: The environment, with the variables that the document sets.
        secrets: The document's section `secrets`.
    """

    environ: Mapping[str, str]
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)


def expand(node: Node, variables: Variables, unread: Callable[[Node, str], None]) -> Node:
    """Replace `${NAME}` in every string of a tree, and every secret reference.

    Args:
        node: The tree.
        variables: Where they lead.
        unread: Called with the node and a reason when a variable is unset or empty, or a reference leads nowhere; the value
            becomes None.
    """
    if find_ref_source(node):
        return _expand_ref(node, variables, unread)
    if isinstance(node.content, dict):
        return replace(node, content={name: expand(child, variables, unread) for name, child in node.content.items()})
    if not isinstance(node.content, str):
        return node
    missing: list[str] = []

    def fill(found: re.Match[str]) -> str:
        escaped, name, default = found.groups()
        if escaped:
            return found[0][1:]
        value = variables.environ.get(name) or default
        if value is None:
            missing.append(name)
        return value or ""

    filled = _PLACEHOLDER.sub(fill, _SHORT.sub(r"${\1}", node.content))
    for name in missing:
        unread(node, f"the environment variable {name} is not set")
    return replace(node, content=None if missing else filled)


def find_ref_source(node: Node) -> str:
    """Return the source of a secret reference, "env", "file", "exec" or "store"; "" if a node is none."""
    if not isinstance(node.content, dict) or not {"source", "id"} <= node.content.keys():
        return ""
    source = node.content["source"].content
    return source if isinstance(source, str) and source in REF_SOURCES else ""


def _expand_ref(node: Node, variables: Variables, unread: Callable[[Node, str], None]) -> Node:
    from memory_core.config.secret_refs import UnreadSecret, read_ref

    try:
        return replace(node, content=read_ref(to_plain(node), variables.secrets, variables.environ))
    except UnreadSecret as error:
        unread(node, str(error))
        return replace(node, content=None)


def expand_home(path: str | Path, environ: Mapping[str, str] | None = None) -> str:
    """Replace a leading `~` or `~/` by the home folder; `~name` is taken for a file's name.

    Raises:
        ConfigError: The path needs a home folder, and there is none.
    """
    text = os.fspath(path)
    return find_home(environ) + text[1:] if text == "~" or text.startswith("~/") else text


def find_home(environ: Mapping[str, str] | None = None) -> str:
    """Return the home folder: the variable HOME, or if it is not set what the system knows of this user.

    Raises:
        ConfigError: HOME is empty, or is not set and the system knows of no home.
    """
    home = (os.environ if environ is None else environ).get("HOME")
    if home == "":
        _refuse("is empty")
    try:
        return home or str(Path.home())
    except RuntimeError:
        _refuse("is not set, and this user has no home folder")


def _refuse(problem: str) -> NoReturn:
    told = f"{problem}; set HOME, or name the folders with --workspace and --state-dir"
    raise ConfigError([ConfigProblem("HOME", told)], origin="environment")
