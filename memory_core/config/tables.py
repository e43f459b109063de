"""The settings as rows: what a configuration resolves to, and the tables of the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from memory_core.config.environment import ENVIRONMENT
from memory_core.config.load import Config
from memory_core.config.nodes import Node, Origin, Path, dotted, find
from memory_core.config.resolution import DEFAULT_AGENT, DEFAULT_SLOT, DEFAULT_WORKSPACE
from memory_core.fields import Secret, camel
from memory_core.settings import AgentConfig, Compaction, MemorySettings, ProviderAccount, SearchSettings

MASK = "***"
SECRET_WORDS = ("key", "token", "secret", "password", "auth", "header")


class Row(NamedTuple):
    """One setting as it was resolved.

    Attributes:
        key: Dotted, as the documentation spells it.
        value: What JSON can hold; keys and headers are masked.
        origin: Who set it last.
    """

    key: str
    value: Any
    origin: Origin


def describe(config: Config, agent: str = "main") -> list[Row]:
    """What was read, in which dialect, and what it resolves to for an agent, in the order of the documentation.

    Raises:
        InvalidArgument: The agent's id is none.
    """
    resolved, resolver = config.agent(agent), config.resolver
    search, compaction = resolver.search_node(resolved.agent), resolver.compaction_node(resolved.agent)
    return [
        *_heads(config, resolved),
        *_rows("memory", resolved.memory, resolver.memory),
        *_rows("memorySearch", resolved.search, search),
        *_rows("compaction", resolved.compaction, compaction),
        *(row for name in resolved.backend_sections for row in _raw_rows(f"memory.{name}", resolver.backend(name))),
        *(
            row
            for name, account in resolved.providers.items()
            for row in _rows(f"models.providers.{name}", account, resolver.provider(name))
            if row.value
        ),
    ]


def _heads(config: Config, resolved: AgentConfig) -> Iterator[Row]:
    resolver = config.resolver
    origin: Origin = "default" if config.origin == "defaults" else "file"
    store = _origin(resolver.search_node(resolved.agent), ("store", "path"))
    yield Row("document", config.origin, origin)
    yield Row("dialect", config.dialect, origin)
    yield Row("agent", resolved.agent, "flag" if resolved.agent != DEFAULT_AGENT else "default")
    yield Row("stateDir", str(resolved.state_dir), resolver.places.state_dir_origin)
    yield Row("workspace", str(resolved.workspace), resolver.workspace_origin(resolved.agent))
    yield Row("index", str(resolved.store_path), store)
    yield Row("plugins.slots.memory", resolved.slot, resolver.slot.origin if resolver.slot else "default")


def _rows(key: str, section: Any, node: Node, path: Path = ()) -> Iterator[Row]:
    for item in fields(section):
        name, value = camel(item.name), getattr(section, item.name)
        if is_dataclass(value):
            yield from _rows(dotted(key, name), value, node, (*path, name))
        else:
            yield Row(dotted(key, name), _shown(name, value), _origin(node, (*path, name)))


def _raw_rows(key: str, node: Node) -> Iterator[Row]:
    """Rows of a section whose meaning only its plugin knows: whatever is named like a secret is masked."""
    if isinstance(node.content, dict):
        for name, child in node.content.items():
            yield from _raw_rows(dotted(key, name), child)
    elif isinstance(node.content, list):
        for index, child in enumerate(node.content):
            yield from _raw_rows(dotted(key, index), child)
    else:
        hidden = node.content and any(word in key.lower() for word in SECRET_WORDS)
        yield Row(key, MASK if hidden else node.content, node.origin)


def _origin(node: Node, path: Path) -> Origin:
    place, rest = find(node, path)
    return "default" if rest else place.origin


def _shown(name: str, value: object) -> Any:
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Mapping):
        return {key: _shown(key, each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_shown(name, each) for each in value]
    if is_dataclass(value):
        return {camel(item.name): _shown(item.name, getattr(value, item.name)) for item in fields(value)}
    return _without_credentials(value) if name == "baseUrl" and isinstance(value, str) else value


def _without_credentials(url: str) -> str:
    """A URL with user, password and query masked: each of them may hold a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    _, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{MASK}@{host}" if at else host, query=MASK if parts.query else "").geturl()


def settings_table() -> str:
    """A Markdown table of every setting: key, default, meaning with bounds and choices."""
    rows = [
        ("plugins.slots.memory", f'"{DEFAULT_SLOT}"', 'The plugin in the memory slot; "none" turns memory off.'),
        ("agents.defaults.workspace", f'"{DEFAULT_WORKSPACE}"', "Where the agent's notes are."),
        *_documented("memory", MemorySettings()),
        *_documented("memorySearch", SearchSettings()),
        *_documented("compaction", Compaction()),
        *_documented("models.providers.<id>", ProviderAccount()),
    ]
    return _markdown(
        ("key", "default", "meaning"), [(f"`{key}`", f"`{value}`", meaning) for key, value, meaning in rows]
    )


def environment_table() -> str:
    """A Markdown table of every environment variable that is read: name, the key it stands for, meaning."""
    rows = [(f"`{item.name}`", f"`{item.key}`" if item.key else "", item.meaning) for item in ENVIRONMENT]
    return _markdown(("variable", "key", "meaning"), rows)


def _documented(key: str, section: Any) -> Iterator[tuple[str, str, str]]:
    hints = get_type_hints(type(section))
    for item in fields(section):
        name, value = dotted(key, camel(item.name)), getattr(section, item.name)
        if is_dataclass(value):
            yield from _documented(name, value)
        else:
            default = "unset" if value is None else json.dumps(_shown(item.name, value))
            extent = _bounds(item.metadata) or _choices(hints[item.name])
            yield name, default, f"{item.metadata['description']}{f' {extent}.' if extent else ''}"


def _bounds(metadata: Mapping[str, Any]) -> str:
    low, above, high = (metadata.get(name) for name in ("ge", "gt", "le"))
    lowest = "" if low is None else f"{low:.15g}"
    if above is not None:
        lowest = f"More than {above:.15g}"
    if high is not None:
        return f"{lowest}{', at most' if above is not None else ' to'} {high:.15g}"
    return lowest if above is not None or low is None else f"At least {lowest}"


def _choices(hint: object) -> str:
    return " \\| ".join(f'"{choice}"' for choice in get_args(hint)) if get_origin(hint) is Literal else ""


def _markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
