"""The JSON Schema of the whole document, generated from the settings' classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_core.config.dialects import COMPACTION_KEYS
from memory_core.config.problems import adapter
from memory_core.config.resolution import DEFAULT_SLOT
from memory_core.config.sections import AGENT_ID
from memory_core.settings import Compaction, MemorySettings, ProviderAccount, SearchSettings

Schema = dict[str, Any]

TEXT = {"type": ["string", "null"], "pattern": "\\S"}
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def config_schema(backends: Mapping[str, type[Any] | None] | None = None) -> Schema:
    """The JSON Schema (draft 2020-12) of a document in our own dialects; closed exactly where unknown keys are errors.

    Args:
        backends: The backends whose section below `memory` is allowed, with the model of each, None for any object.
            Default: builtin and qmd, each any object.
    """
    definitions: Schema = {}
    search = _or_null(_definition(SearchSettings, definitions))
    _definition(Compaction, definitions)
    memory = _inlined(MemorySettings, definitions)
    memory["type"] = ["object", "null"]
    memory["properties"]["search"] = search
    for name, model in ({"builtin": None, "qmd": None} if backends is None else backends).items():
        own = {"type": "object"} if model is None else _definition(model, definitions)
        memory["properties"][name] = _or_null(own)
    definitions["ExtraPath"] = {"anyOf": [{"type": "string", "minLength": 1}, definitions["ExtraPath"]]}
    definitions["Agent"] = _agent(search, definitions.pop("Compaction"))
    return {
        "$schema": DRAFT,
        **_open(
            plugins=_open(slots=_open(memory={**TEXT, "default": DEFAULT_SLOT})),
            memory=memory,
            memorySearch=search,
            agents=_agents(),
            models=_open(providers={**_open(), "additionalProperties": _account(definitions)}),
        ),
        "$defs": definitions,
    }


def _definition(model: type[Any], definitions: Schema) -> Schema:
    """Put a model's schema and those it refers to among the definitions; a reference to it."""
    own = _inlined(model, definitions)
    definitions[model.__name__] = own
    return {"$ref": f"#/$defs/{model.__name__}"}


def _inlined(model: type[Any], definitions: Schema) -> Schema:
    own = adapter(model).json_schema(by_alias=True)
    definitions.update(own.pop("$defs", {}))
    return own


def _open(**properties: Schema) -> Schema:
    """An object of the host: only our keys in it are described; null counts as not given."""
    return {"type": ["object", "null"], "properties": properties}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _agents() -> Schema:
    agent = {"$ref": "#/$defs/Agent"}
    agent_id = {"type": "string", "pattern": f"^{AGENT_ID.pattern.replace('a-z', 'A-Za-z')}$"}
    with_id = {"allOf": [agent, {"type": "object", "properties": {"id": agent_id}, "required": ["id"]}]}
    entries = {**_open(), "propertyNames": agent_id, "additionalProperties": agent}
    return _open(defaults=agent, list={"type": ["array", "null"], "items": with_id}, entries=entries)


def _agent(search: Schema, compaction: Schema) -> Schema:
    ours = {name: _or_null(compaction["properties"][name]) for name in COMPACTION_KEYS}
    memory = {**_open(search=search), "additionalProperties": False}
    return _open(workspace=TEXT, memorySearch=search, memory=memory, compaction=_open(**ours))


def _account(definitions: Schema) -> Schema:
    """The host's own object: what we cannot use in it is left out with a warning, so no type is demanded."""
    described = _inlined(ProviderAccount, definitions)["properties"]
    return {"properties": {name: {"description": each["description"]} for name, each in described.items()}}
