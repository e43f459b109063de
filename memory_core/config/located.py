"""Values that remember where they were written, and the sections that every layer is read into. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Literal

from memory_core.errors import ConfigProblem

Origin = Literal["default", "dialect", "file", "environment", "flag"]  # "dialect": a default that the dialect changes
KeyPath = tuple[str | int, ...]

ADD_UP = "extraPaths"  # a later layer extends this list, and replaces all others

_WORDS: dict[type[Any], str] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    Mapping: "an object",
    list: "a list",
    tuple: "a list",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a document, of the environment or of a flag.

    Attributes:
        content: Nodes by key, a list of nodes, or a string, number, boolean or None.
        key: Where it was written: the dotted key as the document spells it, or the name of an environment variable.
        origin: What kind of place that is.
    """

    content: dict[str, Node] | list[Node] | str | float | None
    key: str
    origin: Origin


def join_key(key: str, part: str | int) -> str:
    """Join a dotted key and its next part: `agents.list` and 1 make `agents.list[1]`."""
    if isinstance(part, int):
        return f"{key}[{part}]"
    return f"{key}.{part}" if key else part


def annotate(raw: object, key: str, origin: Origin, problems: list[ConfigProblem]) -> Node:
    """Turn plain values into nodes; a value that JSON cannot hold becomes None and a problem.

    A number without a fraction becomes an int, as in JSON Schema: a host that went through JavaScript writes 6.0 for 6.
    """
    if isinstance(raw, Mapping):
        return Node({str(k): annotate(v, join_key(key, str(k)), origin, problems) for k, v in raw.items()}, key, origin)
    if isinstance(raw, Sequence) and not isinstance(raw, str | bytes | bytearray):
        return Node([annotate(v, join_key(key, i), origin, problems) for i, v in enumerate(raw)], key, origin)
    return Node(_to_scalar(raw, key, problems), key, origin)


def _to_scalar(raw: object, key: str, problems: list[ConfigProblem]) -> str | float | None:
    if isinstance(raw, PurePath):
        return str(raw)
    if isinstance(raw, str):
        if raw.isascii() or raw.encode("utf-8", "replace").decode("utf-8") == raw:
            return raw
        problems.append(ConfigProblem(key, "holds characters that are not Unicode text"))
        return None
    if isinstance(raw, float) and raw.is_integer():
        return int(raw)
    if raw is None or isinstance(raw, int | float):
        return raw
    problems.append(ConfigProblem(key, f"expected a value that JSON can hold, not {name_type(raw)}"))
    return None


def name_type(value: object) -> str:
    """Return a value's type in the words of a document; never its content, which may be a key."""
    if value == "":
        return "an empty string"
    return next((words for kind, words in _WORDS.items() if isinstance(value, kind)), f"a {type(value).__name__}")


def to_plain(node: Node) -> Any:
    """Return the values alone, as `json` makes them."""
    if isinstance(node.content, dict):
        return {name: to_plain(child) for name, child in node.content.items()}
    if isinstance(node.content, list):
        return [to_plain(child) for child in node.content]
    return node.content


def merge(base: Node, over: Node, name: str = "") -> Node:
    """Lay one node over another: objects merge, everything else replaces, except that `extraPaths` add up."""
    if isinstance(base.content, dict) and isinstance(over.content, dict):
        both = {
            key: merge(base.content[key], child, key) if key in base.content else child
            for key, child in over.content.items()
        }
        return replace(over, content={**base.content, **both})
    if name == ADD_UP and isinstance(base.content, list) and isinstance(over.content, list):
        return replace(over, content=[*base.content, *over.content])
    return over


def find_clashes(one: Node, other: Node) -> Iterator[tuple[Node, Node]]:
    """Yield pairs of values that both nodes give for the same key."""
    if isinstance(one.content, dict) and isinstance(other.content, dict):
        for key in one.content.keys() & other.content.keys():
            yield from find_clashes(one.content[key], other.content[key])
    else:
        yield one, other


def find(node: Node, path: KeyPath) -> tuple[Node, KeyPath]:
    """Follow a path as far as it goes; return the last node on it, and the parts that lead nowhere."""
    for step, part in enumerate(path):
        child = _get_child(node, part)
        if child is None:
            return node, path[step:]
        node = child
    return node, ()


def _get_child(node: Node, part: str | int) -> Node | None:
    if isinstance(node.content, dict):
        return node.content.get(str(part))
    if isinstance(node.content, list) and isinstance(part, int) and part < len(node.content):
        return node.content[part]
    return None


def change(node: Node, path: KeyPath, make: Callable[[Node], Node]) -> Node:
    """Return a tree with `make` applied to the node at a path; unchanged when there is no such node."""
    if not path:
        return make(node)
    head, rest = path[0], path[1:]
    if isinstance(node.content, dict) and isinstance(head, str) and head in node.content:
        return replace(node, content={**node.content, head: change(node.content[head], rest, make)})
    return node


def wrap_at(path: Sequence[str], node: Node) -> Node:
    """Wrap a node in objects, so that it lies at a path; they get the outer parts of its key as keys."""
    key = node.key
    for name in reversed(path):
        key = key.rpartition(".")[0] or key
        node = Node({name: node}, key, node.origin)
    return node


def remove(node: Node, path: KeyPath) -> Node:
    """Return a tree without the value at a path of keys; unchanged when there is no such value."""
    if not path or not isinstance(node.content, dict) or path[0] not in node.content:
        return node
    head, rest = str(path[0]), path[1:]
    content = {name: child for name, child in node.content.items() if name != head or rest}
    if rest:
        content[head] = remove(content[head], rest)
    return replace(node, content=content)


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
