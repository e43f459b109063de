"""Settings described: as the rows of one configuration, as those of the documentation, and as a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from memory_core.as_json import to_camel
from memory_core.config.agent import AGENT_ID, GET_LINES, AgentConfig
from memory_core.config.dialects import COMPACTION_KEYS
from memory_core.config.documents import KeyPath, Node, Origin, find, get_part, join_key, make_object
from memory_core.config.environment import REF_SOURCES
from memory_core.config.fields import FORMER, WITHOUT_NUL, Secret
from memory_core.config.load import Config
from memory_core.config.problems import get_adapter, leave_out_ignored, list_sections
from memory_core.config.resolution import DEFAULT_WORKSPACE
from memory_core.config.settings import (
    DEFAULT_AGENT,
    SHIPPED_BACKENDS,
    SLOT_ID,
    Compaction,
    MemorySettings,
    ProviderAccount,
    SearchSettings,
)

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
    (search, _), compaction = resolver.merge_search(resolved.agent), resolver.merge_compaction(resolved.agent)
    return [
        *_describe_places(config, resolved),
        *_make_rows("memory", resolved.memory, get_part(resolver.merged, "memory")),
        *_make_rows("memorySearch", resolved.search, search),
        *_make_rows("compaction", resolved.compaction, compaction),
        *(
            _make_raw_row(key, value)
            for name in resolved.backend_sections
            for key, value in _walk_values(f"memory.{name}", get_part(resolver.merged, "backends", name))
        ),
        *(
            row
            for name, account in resolved.providers.items()
            for row in _make_rows(f"models.providers.{name}", account, get_part(resolver.merged, "providers", name))
            if row.value
        ),
    ]


def describe_section(key: str, section: Any) -> Iterator[Row]:
    """Return the rows of a section of which no document sets anything."""
    return _make_rows(key, section, make_object())


def explain_other_spellings(config: Config, agent: str = DEFAULT_AGENT) -> list[str]:
    """Return a sentence about each key of the host's section `history` that is read as one of ours.

    Raises:
        InvalidArgument: The agent's id is not valid.
    """
    merged = leave_out_ignored(SearchSettings, config.resolver.merge_search(config.agent(agent).agent)[0], [], [])
    return [
        f"{node.key} is read as {key}"
        for key, node in _walk_values("memorySearch", merged)
        if node.key.startswith("history.")
    ]


def _walk_values(key: str, node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node.content, dict) or (isinstance(node.content, list) and node.content):
        pairs = node.content.items() if isinstance(node.content, dict) else enumerate(node.content)
        for part, child in pairs:
            yield from _walk_values(join_key(key, part), child)
    else:
        yield key, node


def _describe_places(config: Config, resolved: AgentConfig) -> Iterator[Row]:
    resolver = config.resolver
    origin: Origin = "default" if config.origin == "defaults" else "file"
    store, rest = find(resolver.merge_search(resolved.agent)[0], ("store", "path"))
    yield Row("document", config.origin, origin)
    yield Row("dialect", config.dialect, origin)
    yield Row("agent", resolved.agent, "flag" if resolved.agent != DEFAULT_AGENT else "default")
    yield Row("stateDir", str(resolved.state_dir), resolver.state_dir_origin)
    yield Row("workspace", str(resolved.workspace), resolver.find_workspace_origin(resolved.agent))
    yield Row("index", str(resolved.store_path), "default" if rest else store.origin)
    if resolved.get_lines != GET_LINES:
        yield Row("get_memory.lines", resolved.get_lines, "dialect")
    yield Row("plugins.slots.memory", resolved.slot, resolver.slot.origin if resolver.slot else "default")


def _make_rows(key: str, section: Any, node: Node, path: KeyPath = ()) -> Iterator[Row]:
    for item in fields(section):
        name, value = to_camel(item.name), getattr(section, item.name)
        if is_dataclass(value):
            yield from _make_rows(join_key(key, name), value, node, (*path, name))
        else:
            place, rest = find(node, (*path, name))
            origin: Origin = "default" if rest else place.origin
            translated = origin == "file" and place.key.startswith("embedding.")
            yield Row(join_key(key, name), _show(name, value), origin, place.key if translated else "")


def _make_raw_row(key: str, node: Node) -> Row:
    """Return the row of a value that only its plugin understands; one whose name sounds like a secret is masked."""
    hidden = node.content and any(word in key.lower() for word in SECRET_WORDS)
    return Row(key, MASK if hidden else node.content, node.origin)


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


# The settings that people change, each with an example as JSON5 has it.
COMMON = {
    "agents.defaults.workspace": '"~/notes"',
    "memorySearch.extraPaths": '["~/Vault"]',
    "memorySearch.sources": '["memory", "workspace"]',
    "memorySearch.timeZone": '"Europe/Paris"',
    "memorySearch.provider": '"openai"',
    "memorySearch.model": '"text-embedding-3-large"',
    "memorySearch.remote.apiKey": '"${OPENAI_API_KEY}"',
    "memorySearch.query.maxResults": "10",
    "memorySearch.items.enabled": "true",
    "memorySearch.items.capture.enabled": "true",
    "memorySearch.recall.enabled": "true",
    "memory.backend": '"qmd"',
}


def render_new_config() -> str:
    """Return a configuration in JSON5 that sets nothing, and names in comments what people change."""
    tree: dict[str, Any] = {}
    for key, _, meaning in list_settings():
        if key in COMMON:
            *above, name = (key if key.startswith(("agents.", "memory.")) else f"agents.defaults.{key}").split(".")
            place = tree
            for part in above:
                place = place.setdefault(part, {})
            place[name] = (meaning, COMMON[key])
    lines = ["// Settings of memory-core. Take // away before a setting, or run: memory-core config set KEY VALUE", "{"]
    return "\n".join([*lines, *_write_tree(tree, "  "), "}\n"])


def _write_tree(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from (f"{indent}{name}: {{", *_write_tree(value, f"{indent}  "), f"{indent}}},")
        else:
            meaning, example = value
            yield from (f"{indent}// {meaning}".replace("\\|", "|"), f"{indent}// {name}: {example},")


def list_settings() -> list[tuple[str, str, str]]:
    """Return the key, the default as JSON, and the meaning with bounds and choices of each setting."""
    return [
        ("plugins.slots.memory", f'"{SLOT_ID}"', 'The plugin in the memory slot; "none" turns memory off.'),
        ("agents.defaults.workspace", f'"{DEFAULT_WORKSPACE}"', "Where the agent's notes are."),
        *_document("memory", MemorySettings()),
        *_document("memorySearch", SearchSettings()),
        *_document("compaction", Compaction()),
        *_document("models.providers.<id>", ProviderAccount()),
    ]


def _document(key: str, section: Any) -> Iterator[tuple[str, str, str]]:
    hints = get_type_hints(type(section))
    for item in fields(section):
        name, value = join_key(key, to_camel(item.name)), getattr(section, item.name)
        if is_dataclass(value):
            yield from _document(name, value)
        else:
            default = "unset" if value is None else json.dumps(_show(item.name, value))
            choices = get_args(hints[item.name]) if get_origin(hints[item.name]) is Literal else ()
            extent = _describe_bounds(item.metadata) or " \\| ".join(f'"{choice}"' for choice in choices)
            yield name, default, f"{item.metadata['description']}{f' {extent}.' if extent else ''}"


def _describe_bounds(metadata: Mapping[str, Any]) -> str:
    low, above, high = (metadata.get(name) for name in ("ge", "gt", "le"))
    lowest = "" if low is None else f"{low:.15g}"
    if above is not None:
        lowest = f"More than {above:.15g}"
    if high is not None:
        return f"{lowest}{', at most' if above is not None else ' to'} {high:.15g}"
    return lowest if above is not None or low is None else f"At least {lowest}"


Schema = dict[str, Any]

TEXT = {"type": ["string", "null"], "pattern": r"^[^\x00]*[^\s\x00][^\x00]*$"}
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def build_config_schema(backends: Mapping[str, type[Any] | None] | None = None) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a document in our own dialects; closed where unknown keys are errors.

    Args:
        backends: The backends whose section below `memory` is allowed, with the model of each, None for any object.
            Default: those that ship with memory-core, each any object.
    """
    definitions: Schema = {}
    search = _allow_null(_define(SearchSettings, definitions))
    _define(Compaction, definitions)
    memory = _inline(MemorySettings, definitions)
    memory["type"] = ["object", "null"]
    memory["properties"]["search"] = search
    for name, model in (dict.fromkeys(SHIPPED_BACKENDS) if backends is None else backends).items():
        own = {"type": "object"} if model is None else _define(model, definitions)
        memory["properties"][name] = _allow_null(own)
    _allow_secret_refs(definitions)
    definitions["ExtraPath"] = {
        "anyOf": [{"type": "string", "minLength": 1, "pattern": WITHOUT_NUL}, definitions["ExtraPath"]]
    }
    compaction = definitions.pop("Compaction")["properties"]
    definitions["Agent"] = _describe_open(
        workspace=TEXT,
        memorySearch=search,
        memory={**_describe_open(search=search), "additionalProperties": False},
        compaction=_describe_open(**{name: _allow_null(compaction[name]) for name in COMPACTION_KEYS}),
    )
    # Values of an account that we cannot use are left out with a warning: any type passes.
    account = _inline(ProviderAccount, definitions)["properties"]
    described = {"properties": {name: {"description": each["description"]} for name, each in account.items()}}
    return {
        "$schema": DRAFT,
        **_describe_open(
            plugins=_describe_open(slots=_describe_open(memory={**TEXT, "default": SLOT_ID})),
            memory=memory,
            memorySearch=search,
            agents=_build_agents(),
            models=_describe_open(providers={**_describe_open(), "additionalProperties": described}),
        ),
        "$defs": definitions,
    }


def _define(model: type[Any], definitions: Schema) -> Schema:
    """Add a model's schema, and those it refers to, to the definitions; return a reference to it."""
    definitions[model.__name__] = _inline(model, definitions)
    return {"$ref": f"#/$defs/{model.__name__}"}


def _inline(model: type[Any], definitions: Schema) -> Schema:
    own = get_adapter(model).json_schema(by_alias=True)
    definitions.update(own.pop("$defs", {}))
    _allow_ignored(model, own, definitions)
    return own


def _allow_ignored(model: type[Any], own: Schema, definitions: Schema) -> None:
    """Allow the keys that a section ignores, and those within it."""
    for name, hint in getattr(model, "__ignored_keys__", {}).items():
        what = "No setting any more" if hint == FORMER else "A setting of OpenClaw that means nothing here"
        own["properties"][name] = {"description": f"{what}; it is left out."}
    if is_dataclass(model):
        for _, part in list_sections(model):
            _allow_ignored(part, definitions[part.__name__], definitions)


def _allow_secret_refs(definitions: Schema) -> None:
    """Allow secret references where `environment.expand` reads them as keys."""
    texts = {name: {"type": "string"} for name in ("provider", "id")}
    definitions["SecretRef"] = {
        "type": "object",
        "description": "A secret reference of OpenClaw.",
        "properties": {"source": {"enum": list(REF_SOURCES)}, **texts},
        "required": ["source", "id"],
    }
    ref, remote = {"$ref": "#/$defs/SecretRef"}, definitions["Remote"]["properties"]
    remote["apiKey"]["anyOf"].append(ref)
    values = remote["headers"]["additionalProperties"]
    remote["headers"]["additionalProperties"] = {"anyOf": [values, ref]}


def _describe_open(**properties: Schema) -> Schema:
    """Return the schema of an object of the host: only our keys are described; null counts as not given."""
    return {"type": ["object", "null"], "properties": properties}


def _allow_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _build_agents() -> Schema:
    agent = {"$ref": "#/$defs/Agent"}
    agent_id = {"type": "string", "pattern": f"^{AGENT_ID.pattern.replace('a-z', 'A-Za-z')}$"}
    with_id = {"allOf": [agent, {"type": "object", "properties": {"id": agent_id}, "required": ["id"]}]}
    entries = {**_describe_open(), "propertyNames": agent_id, "additionalProperties": agent}
    return _describe_open(defaults=agent, list={"type": ["array", "null"], "items": with_id}, entries=entries)
