"""Settings as rows: the values that a configuration resolves to, and the tables of the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from memory_core.config.agent import GET_LINES, AgentConfig
from memory_core.config.environment import ENVIRONMENT
from memory_core.config.fields import Secret, to_camel
from memory_core.config.load import Config
from memory_core.config.located import Node, Origin, Path, find, join_key
from memory_core.config.names import DEFAULT_AGENT, SLOT_ID
from memory_core.config.resolution import DEFAULT_WORKSPACE
from memory_core.config.settings import Compaction, MemorySettings, ProviderAccount, SearchSettings

MASK = "***"
SECRET_WORDS = ("key", "token", "secret", "password", "auth", "header", "dsn")


class Row(NamedTuple):
    """One setting as it was resolved.

    Attributes:
        key: Dotted, as the documentation spells it.
        value: A JSON value; keys and headers are masked.
        origin: The layer that set it last.
        spelling: The key as the document spells it, where a dialect has another word for it; else "".
    """

    key: str
    value: Any
    origin: Origin
    spelling: str = ""


def describe(config: Config, agent: str = DEFAULT_AGENT) -> list[Row]:
    """Return the rows of one agent in the order of the documentation: document, dialect and places, then every setting.

    Raises:
        InvalidArgument: The agent's id is not valid.
    """
    resolved, resolver = config.agent(agent), config.resolver
    search, compaction = resolver.merge_search(resolved.agent), resolver.merge_compaction(resolved.agent)
    return [
        *_describe_places(config, resolved),
        *_make_rows("memory", resolved.memory, resolver.memory),
        *_make_rows("memorySearch", resolved.search, search),
        *_make_rows("compaction", resolved.compaction, compaction),
        *(
            row
            for name in resolved.backend_sections
            for row in _make_raw_rows(f"memory.{name}", resolver.merge_backend(name))
        ),
        *(
            row
            for name, account in resolved.providers.items()
            for row in _make_rows(f"models.providers.{name}", account, resolver.merge_provider(name))
            if row.value
        ),
    ]


def explain_other_spellings(config: Config, agent: str = DEFAULT_AGENT) -> list[str]:
    """Return a sentence about each key of the host's section `history` that is read as one of ours.

    Raises:
        InvalidArgument: The agent's id is not valid.
    """
    merged = config.resolver.merge_search(config.agent(agent).agent)
    return [
        f"{node.key} is read as {key}"
        for key, node in _walk_values("memorySearch", merged)
        if node.key.startswith("history.")
    ]


def _walk_values(key: str, node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node.content, dict):
        for name, child in node.content.items():
            yield from _walk_values(join_key(key, name), child)
    else:
        yield key, node


def _describe_places(config: Config, resolved: AgentConfig) -> Iterator[Row]:
    resolver = config.resolver
    origin: Origin = "default" if config.origin == "defaults" else "file"
    store = _find_origin(resolver.merge_search(resolved.agent), ("store", "path"))
    yield Row("document", config.origin, origin)
    yield Row("dialect", config.dialect, origin)
    yield Row("agent", resolved.agent, "flag" if resolved.agent != DEFAULT_AGENT else "default")
    yield Row("stateDir", str(resolved.state_dir), resolver.places.state_dir_origin)
    yield Row("workspace", str(resolved.workspace), resolver.find_workspace_origin(resolved.agent))
    yield Row("index", str(resolved.store_path), store)
    if resolved.get_lines != GET_LINES:
        yield Row("get_memory.lines", resolved.get_lines, "dialect")
    yield Row("plugins.slots.memory", resolved.slot, resolver.slot.origin if resolver.slot else "default")


def _make_rows(key: str, section: Any, node: Node, path: Path = ()) -> Iterator[Row]:
    for item in fields(section):
        name, value = to_camel(item.name), getattr(section, item.name)
        if is_dataclass(value):
            yield from _make_rows(join_key(key, name), value, node, (*path, name))
        else:
            yield _make_row(join_key(key, name), _show(name, value), node, (*path, name))


def _make_row(key: str, value: Any, node: Node, path: Path) -> Row:
    place, rest = find(node, path)
    if rest:
        return Row(key, value, "default")
    translated = place.origin == "file" and place.key.startswith("embedding.")
    return Row(key, value, place.origin, place.key if translated else "")


def _make_raw_rows(key: str, node: Node) -> Iterator[Row]:
    """Yield rows of a section that only its plugin understands; a value whose name sounds like a secret is masked."""
    if isinstance(node.content, dict):
        for name, child in node.content.items():
            yield from _make_raw_rows(join_key(key, name), child)
    elif isinstance(node.content, list):
        for index, child in enumerate(node.content):
            yield from _make_raw_rows(join_key(key, index), child)
    else:
        hidden = node.content and any(word in key.lower() for word in SECRET_WORDS)
        yield Row(key, MASK if hidden else node.content, node.origin)


def _find_origin(node: Node, path: Path) -> Origin:
    place, rest = find(node, path)
    return "default" if rest else place.origin


def _show(name: str, value: object) -> Any:
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Mapping):
        return {key: _show(key, each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_show(name, each) for each in value]
    if is_dataclass(value):
        return {to_camel(item.name): _show(item.name, getattr(value, item.name)) for item in fields(value)}
    return _mask_credentials(value) if name == "baseUrl" and isinstance(value, str) else value


def _mask_credentials(url: str) -> str:
    """Mask user, password and query of a URL: each of them may hold a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    _, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{MASK}@{host}" if at else host, query=MASK if parts.query else "").geturl()


def render_settings_table() -> str:
    """Return a Markdown table of all settings: key, default, meaning with bounds and choices."""
    rows = [
        ("plugins.slots.memory", f'"{SLOT_ID}"', 'The plugin in the memory slot; "none" turns memory off.'),
        ("agents.defaults.workspace", f'"{DEFAULT_WORKSPACE}"', "Where the agent's notes are."),
        *_document("memory", MemorySettings()),
        *_document("memorySearch", SearchSettings()),
        *_document("compaction", Compaction()),
        *_document("models.providers.<id>", ProviderAccount()),
    ]
    return _render_table(
        ("key", "default", "meaning"), [(f"`{key}`", f"`{value}`", meaning) for key, value, meaning in rows]
    )


def render_environment_table() -> str:
    """Return a Markdown table of the environment variables that are read: name, the key it stands for, meaning."""
    rows = [(f"`{item.name}`", f"`{item.key}`" if item.key else "", item.meaning) for item in ENVIRONMENT]
    return _render_table(("variable", "key", "meaning"), rows)


def _document(key: str, section: Any) -> Iterator[tuple[str, str, str]]:
    hints = get_type_hints(type(section))
    for item in fields(section):
        name, value = join_key(key, to_camel(item.name)), getattr(section, item.name)
        if is_dataclass(value):
            yield from _document(name, value)
        else:
            default = "unset" if value is None else json.dumps(_show(item.name, value))
            extent = _describe_bounds(item.metadata) or _describe_choices(hints[item.name])
            yield name, default, f"{item.metadata['description']}{f' {extent}.' if extent else ''}"


def _describe_bounds(metadata: Mapping[str, Any]) -> str:
    low, above, high = (metadata.get(name) for name in ("ge", "gt", "le"))
    lowest = "" if low is None else f"{low:.15g}"
    if above is not None:
        lowest = f"More than {above:.15g}"
    if high is not None:
        return f"{lowest}{', at most' if above is not None else ' to'} {high:.15g}"
    return lowest if above is not None or low is None else f"At least {lowest}"


def _describe_choices(hint: object) -> str:
    return " \\| ".join(f'"{choice}"' for choice in get_args(hint)) if get_origin(hint) is Literal else ""


def _render_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
