"""The JSON Schema of the whole document, generated from the settings' classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from memory_core.config.dialects import COMPACTION_KEYS
from memory_core.config.environment import REF_SOURCES
from memory_core.config.fields import WITHOUT_NUL
from memory_core.config.foreign import IGNORED, list_sections
from memory_core.config.names import SHIPPED_BACKENDS, SLOT_ID
from memory_core.config.normal_form import AGENT_ID
from memory_core.config.problems import get_adapter
from memory_core.config.settings import Compaction, MemorySettings, ProviderAccount, SearchSettings

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
    definitions["Agent"] = _build_agent(search, definitions.pop("Compaction"))
    return {
        "$schema": DRAFT,
        **_describe_open(
            plugins=_describe_open(slots=_describe_open(memory={**TEXT, "default": SLOT_ID})),
            memory=memory,
            memorySearch=search,
            agents=_build_agents(),
            models=_describe_open(providers={**_describe_open(), "additionalProperties": _build_account(definitions)}),
        ),
        "$defs": definitions,
    }


def _define(model: type[Any], definitions: Schema) -> Schema:
    """Add a model's schema, and those it refers to, to the definitions; return a reference to it."""
    own = _inline(model, definitions)
    definitions[model.__name__] = own
    return {"$ref": f"#/$defs/{model.__name__}"}


def _inline(model: type[Any], definitions: Schema) -> Schema:
    own = get_adapter(model).json_schema(by_alias=True)
    definitions.update(own.pop("$defs", {}))
    _allow_ignored(model, own, definitions)
    return own


def _allow_ignored(model: type[Any], own: Schema, definitions: Schema) -> None:
    """Allow the keys that a section ignores, and those within it."""
    for name in getattr(model, IGNORED, {}):
        own["properties"][name] = {"description": "A setting of OpenClaw that means nothing here; it is left out."}
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


def _build_agent(search: Schema, compaction: Schema) -> Schema:
    ours = {name: _allow_null(compaction["properties"][name]) for name in COMPACTION_KEYS}
    memory = {**_describe_open(search=search), "additionalProperties": False}
    return _describe_open(workspace=TEXT, memorySearch=search, memory=memory, compaction=_describe_open(**ours))


def _build_account(definitions: Schema) -> Schema:
    """Return the schema of a provider's account. Values that we cannot use are left out with a warning: any type passes."""
    described = _inline(ProviderAccount, definitions)["properties"]
    return {"properties": {name: {"description": each["description"]} for name, each in described.items()}}
