"""Descriptions of the tools for MCP clients, beside their arguments: JSON Schemas of results, titles and hints.

A result has either what its tool returns or `error`; see `memory_core.tools.results`. Keys may be added in later versions.
By the hints a client decides if a call has to be approved; one that finds none may refuse to call a tool, see
https://modelcontextprotocol.io/specification/2025-11-25/server/tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Output = dict[str, Any]

_TEXT: Output = {"type": "string"}
_LINE: Output = {"type": "integer", "minimum": 1}
_SHARE: Output = {"type": "number", "minimum": 0, "maximum": 1}
_TRUE: Output = {"const": True}
_NONE: Output = {"type": "array", "maxItems": 0, "description": "Empty, beside an error"}
_STAND_IN: Output = {
    "anyOf": [
        {"type": "null"},
        {
            "type": "object",
            "properties": {"from": _TEXT, "to": _TEXT, "reason": _TEXT},
            "required": ["from", "to", "reason"],
        },
    ]
}
_AS_OF: Output = {
    "type": "object",
    "properties": {"instant": _TEXT, "moment": _TEXT},
    "required": ["instant", "moment"],
    "description": "The time asked for, and the sync whose notes answer; the result is past",
}
_NOW: Output = {"enum": ["unchanged", "changed", "gone"], "description": "What became of it since then"}
_PAST: Output = {
    "type": "object",
    "properties": {"status": _NOW, "startLine": _LINE, "endLine": _LINE, "text": _TEXT},
    "required": ["status"],
    "description": "What stands there today, beside a passage of the past",
}
_ERROR: Output = {
    "error": {**_TEXT, "description": "Why there is no result"},
    "action": {**_TEXT, "description": "What to do about an error or a warning"},
    "warning": {**_TEXT, "description": "What the result may lack"},
    "code": {"enum": ["invalid_argument", "invalid_agent"]},
    "disabled": {**_TRUE, "description": "Memory is off"},
    "unavailable": {**_TRUE, "description": "Memory cannot answer"},
    "denied": {**_TRUE, "description": "Memory may not be used here, or not for this path"},
}

_VERDICT: Output = {
    "type": "object",
    "properties": {"stage": _TEXT, "cause": _TEXT, "reason": _TEXT, "action": _TEXT},
    "required": ["stage", "cause", "reason", "action"],
}


def _make(always: Mapping[str, Output], sometimes: Mapping[str, Output] | None = None) -> Output:
    """Return the schema of a result: its keys that are always there without an error, and those that are sometimes."""
    return {
        "type": "object",
        "properties": {"results": _NONE, **always, **(sometimes or {}), **_ERROR},
        "anyOf": [{"required": list(always)}, {"required": ["error"]}],
    }


def _list(always: Mapping[str, Output], sometimes: Mapping[str, Output] | None = None) -> Output:
    """Return the schema of a list of objects."""
    each = {"type": "object", "properties": {**always, **(sometimes or {})}, "required": list(always)}
    return {"type": "array", "items": each}


_COUNT: Output = {"type": "integer", "minimum": 0}
_DAY: Output = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
_PLACES = _list({"path": _TEXT, "line": _LINE, "date": _DAY, "text": _TEXT}, {"citation": _TEXT})
_FACT: Mapping[str, Output] = {"id": _TEXT, "text": _TEXT, "tags": {"type": "array", "items": _TEXT}, "said": _TEXT}

_SUCCESSOR: Output = {
    "type": "object",
    "description": "The line that took the place of one of these lines",
    "properties": {"path": _TEXT, "line": _LINE, "text": _TEXT, "since": _TEXT},
    "required": ["path", "line", "text"],
}
OUTPUTS: Mapping[str, Output] = {
    "memory_search": _make(
        {
            "results": _list(
                {
                    "path": _TEXT,
                    "startLine": _LINE,
                    "endLine": _LINE,
                    "score": _SHARE,
                    "source": _TEXT,
                    "snippet": _TEXT,
                },
                {
                    "vectorScore": {"type": "number"},
                    "textScore": {"type": "number"},
                    "citation": _TEXT,
                    "now": _PAST,
                    "supersededBy": _SUCCESSOR,
                },
            ),
            "provider": _TEXT,
            "model": {"anyOf": [_TEXT, {"type": "null"}]},
            "fallback": _STAND_IN,
            "backend": _TEXT,
            "backendFallback": _STAND_IN,
            "citations": {"enum": ["on", "off", "auto"]},
            "mode": _TEXT,
        },
        {"stale": {**_TRUE, "description": "The notes have changed since they were indexed"}, "asOf": _AS_OF},
    ),
    "memory_get": _make(
        {
            "path": _TEXT,
            "text": _TEXT,
            "from": _LINE,
            "lines": {"type": "integer", "minimum": 0},
            "status": {"enum": ["ok", "not_found"]},
        },
        {"truncated": _TRUE, "nextFrom": _LINE, "asOf": _AS_OF, "now": _NOW},
    ),
    "memory_explain": _make(
        {
            "verdict": _VERDICT,
            "asked": {"type": "object"},
            "passages": _list(
                {"path": _TEXT, "startLine": _LINE, "endLine": _LINE, "text": _TEXT, "verdict": _VERDICT}
            ),
            "place": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"verdict": _VERDICT}}]},
            "backend": _TEXT,
            "mode": _TEXT,
            "minScore": _SHARE,
            "maxResults": _LINE,
        }
    ),
    "memory_related": _make(
        {
            "name": {"anyOf": [_TEXT, {"type": "null"}]},
            "aliases": {"type": "array", "items": _TEXT},
            "notes": {"type": "array", "items": _TEXT},
            "count": _COUNT,
            "first": _DAY,
            "last": _DAY,
            "days": _COUNT,
            "backlinks": _PLACES,
            "mentions": _PLACES,
            "beside": _list({"name": _TEXT, "count": _COUNT, "first": _DAY, "last": _DAY, "places": _PLACES}),
            "names": _list(
                {
                    "name": _TEXT,
                    "kind": {"enum": ["note", "link", "tag", "found"]},
                    "count": _COUNT,
                    "aliases": {"type": "array", "items": _TEXT},
                }
            ),
        },
        {"stale": {**_TRUE, "description": "The notes have changed since they were indexed"}},
    ),
    "memory_append": _make(
        {"path": _TEXT, "status": {"enum": ["appended", "nothing new"]}, "appended": {"type": "integer", "minimum": 0}},
        {"skipped": {"type": "integer", "minimum": 1}, "startLine": _LINE, "endLine": _LINE},
    ),
    "memory_store": _make({"status": _TEXT}, {"id": _TEXT, "text": _TEXT}),
    "memory_recall": _make(
        {"results": _list({**_FACT, "score": {"type": "number"}}), "strategy": {"enum": ["embedding", "keyword"]}}
    ),
    "memory_forget": _make(
        {"status": {"enum": ["not deleted yet", "deleted", "not_found"]}},
        {
            "results": _list(_FACT),
            "deleted": {"type": "array", "items": _TEXT},
            "remains": {"type": "array", "items": _TEXT},
        },
    ),
}

# Title, and whether it only reads, deletes, and may be called again without another effect.
_HINTS = {
    "memory_search": ("Search memory", True, False, True),
    "memory_get": ("Read a note", True, False, True),
    "memory_explain": ("Tell why notes were found or not", True, False, True),
    "memory_related": ("Tell what is related to a name", True, False, True),
    "memory_append": ("Append to a note", False, False, True),  # what the note holds already is skipped
    "memory_store": ("Keep a fact", False, False, True),  # the same fact is kept once
    "memory_recall": ("Look up facts", True, False, True),
    "memory_forget": ("Forget facts", False, True, True),
}


def describe_tool(name: str) -> dict[str, Any]:
    """Return a tool's title, the schema of its results, its annotations and metadata.

    Claude Code shows a model the tools of a server only after a search, unless they say that they are always needed.

    Args:
        name: Our own name of the tool.
    """
    title, reads, deletes, repeatable = _HINTS[name]
    annotations = {
        "title": title,
        "readOnlyHint": reads,
        "destructiveHint": deletes,
        "idempotentHint": repeatable,
        "openWorldHint": False,
    }
    return {
        "title": title,
        "outputSchema": OUTPUTS[name],
        "annotations": annotations,
        "_meta": {"anthropic/alwaysLoad": True},
    }
