"""Results of tools as a host gets them: JSON with camelCase keys, whatever goes wrong as data, and their schemas for MCP.

A result has either what its tool returns or `error`. Most of it is what `to_json` makes of records, from whose types
`describe_tool` derives the JSON Schemas. Keys may be added in later versions.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, Literal

from memory_core.as_json import to_camel, to_json
from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError, PathRefused
from memory_core.explanations import Explanation
from memory_core.records import AsOf, Document, Hit, Related, SearchResult
from memory_core.text.messages import replace_surrogates
from memory_core.tools.arguments import DESCRIBED, EVERY_RESULT, resolve

log = logging.getLogger(__name__)


def run_safely(name: object, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of what a host calls: whatever goes wrong is in it, and nothing is raised.

    Args:
        name: Its name as the host gave it, for the log of an exception that is not ours.
        work: Makes the result.
    """
    try:
        return make_encodable(work())
    except Exception as error:  # noqa: BLE001 -- nothing may get out to the host
        return shape_failure(error, name)


def shape_failure(error: Exception, name: object) -> dict[str, Any]:
    """Return the result of a tool call that has raised, so that a host never sees an exception.

    Args:
        error: The exception. One that is not ours is logged as a defect.
        name: The tool's name as the host gave it, for the log.
    """
    if not isinstance(error, MemoryCoreError):
        error = explain_defect(error, f"memory tool {name!r:.80}" if isinstance(name, str) else "a memory tool")
    return make_encodable(shape_error(error, name))


def explain_defect(error: Exception, what: str) -> MemoryCoreError:
    """Log an exception that none of our code raises on purpose, and return it as an error of ours.

    Args:
        error: The exception.
        what: What failed, for the log.
    """
    log.error("%s failed", what, exc_info=error)
    return MemoryCoreError(describe_exception(error), action="report this, with the log, as a defect")


def describe_exception(error: Exception) -> str:
    """Return the type and the message of an exception, which may be one of a host's own."""
    try:
        message = str(error)
    except Exception as unspeakable:  # noqa: BLE001 -- a host's own object may raise anything
        message = f"its message cannot be had ({type(unspeakable).__name__})"
    return f"{type(error).__name__}: {message}"


def make_encodable(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result in which lone surrogates are U+FFFD: UTF-8, and so no protocol, can carry them."""
    made: dict[str, Any] = json.loads(replace_surrogates(json.dumps(result, ensure_ascii=False)))
    return made


def shape_error(error: MemoryCoreError, name: object = "") -> dict[str, Any]:
    """Return the result of a call, of the tool of this name, that ended with an error."""
    if isinstance(error, InvalidArgument):
        # The agent's id comes from the host, not from the model.
        return {"error": str(error), "code": "invalid_agent" if error.argument == "agent" else "invalid_argument"}
    if isinstance(error, PathRefused):
        search = "search_memory" if name == "get_memory" else "memory_search"  # Orbit's name or ours, as it was called
        return shape_refusal("denied", str(error), error.action or f"ask for a path that {search} returned")
    advice = "run: memory-core status"
    if isinstance(error, ConfigError):
        advice = "correct the configuration: memory-core config check"
    return shape_refusal("unavailable", str(error), error.action or advice)


def cite(hit: Hit) -> str:
    """Return the citation of a hit: `path#L3-L9`, or `path#L3` for one line."""
    lines = f"L{hit.start_line}" if hit.start_line == hit.end_line else f"L{hit.start_line}-L{hit.end_line}"
    return f"{hit.path}#{lines}"


def shape_search(result: SearchResult, *, cite_hits: bool, citations: str) -> dict[str, Any]:
    """Return the result of memory_search."""
    shaped: dict[str, Any] = {"results": to_json(result.hits, brief=True), **to_json(replace(result, hits=()))}
    del shaped["hits"]
    shaped |= {"citations": citations, "asOf": _shape_as_of(result.as_of)}
    for fallback in filter(None, (shaped["fallback"], shaped["backendFallback"])):
        fallback["from"] = fallback.pop("origin")
    for each in shaped["results"]:
        each.pop("evidence", None)
    if cite_hits:
        past = f" (as of {shaped['asOf']['moment']})" if shaped["asOf"] else ""
        for hit, each in zip(result.hits, shaped["results"], strict=True):
            each["citation"] = cite(hit) + past
    return _leave_out_nothings(shaped, "asOf", "period", "interpretedAs", "stale", "warning", "action", "hint")


def shape_document(found: Document) -> dict[str, Any]:
    """Return the result of memory_get."""
    shaped = {**to_json(found, brief=True), "from": found.from_line, "asOf": _shape_as_of(found.as_of)}
    del shaped["fromLine"]
    return _leave_out_nothings(shaped, "asOf")


def _shape_as_of(as_of: AsOf | None) -> dict[str, str] | None:
    """Return the time of which an answer tells, in local time."""

    def show(instant: datetime) -> str:
        return instant.astimezone().isoformat(timespec="milliseconds")

    return None if as_of is None else {"instant": show(as_of.instant), "moment": show(as_of.moment)}


def shape_explanation(found: Explanation) -> dict[str, Any]:
    """Return the result of memory_explain; a warning and its action stand in it where there are any."""
    return _leave_out_nothings(to_json(found), "warning", "action")


def shape_related(found: Related, *, cite_places: bool) -> dict[str, Any]:
    """Return the result of memory_related; every place in it has a citation where they are wanted."""
    shaped = _leave_out_nothings(to_json(found), "stale", "warning", "action")
    if cite_places:
        for places in (shaped["backlinks"], shaped["mentions"], *(each["places"] for each in shaped["beside"])):
            for place in places:
                place["citation"] = f"{place['path']}#L{place['line']}"
    return shaped


def _leave_out_nothings(shaped: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in shaped.items() if value or key not in names}


def shape_refusal(kind: Literal["disabled", "unavailable", "denied"], reason: str, action: str) -> dict[str, Any]:
    """Return the result of a call that is not answered.

    Args:
        kind: Memory is off; it is on and cannot answer; or the scope forbids it in this chat, or for a path outside the notes.
        reason: A sentence.
        action: What to do.
    """
    return {"results": [], kind: True, "error": reason, "action": action}


Output = dict[str, Any]

_NO_RESULTS: Output = {"type": "array", "maxItems": 0, "description": "Empty, beside an error"}
# What the types of the records do not tell.
_CITED = ("Hit", "Mention")
_KEYS = {"from_line": "from"}
_FROM_ONE = ("line", "replaces", "startLine", "endLine", "from", "nextFrom")
_SHARES = (("Hit", "score"), ("Explanation", "minScore"))


def describe_tool(name: str) -> dict[str, Any]:
    """Return a tool's title, the schema of its results, its annotations and metadata, for MCP.

    By the annotations a client decides if a call has to be approved; one that finds none may refuse to call a tool, see
    https://modelcontextprotocol.io/specification/2025-11-25/server/tools. Claude Code shows a model the tools of a server
    only after a search, unless they say that they are always needed.

    Args:
        name: Our own name of the tool.
    """
    told = DESCRIBED[name]
    return {
        "title": told["title"],
        "outputSchema": derive_output(name),
        "annotations": {"title": told["title"], **told["hints"], "openWorldHint": False},
        "_meta": {"anthropic/alwaysLoad": True},
    }


@cache
def derive_output(name: str) -> Output:
    """Return the JSON Schema of a tool's results, which have what the tool returns, or `error`.

    Args:
        name: Our own name of the tool.
    """
    found = _describe_result(name)
    properties = {"results": _NO_RESULTS, **found["properties"], **EVERY_RESULT}
    if "stale" in properties:
        properties["stale"] = resolve({"$ref": "stale"})
    required = [key for key in found["required"] if key not in ("stale", *EVERY_RESULT)]
    return {"type": "object", "properties": properties, "anyOf": [{"required": required}, {"required": ["error"]}]}


def _describe_result(name: str) -> Output:
    if name == "memory_get":
        return _derive(Document, brief=True)
    if name in ("memory_explain", "memory_related"):
        return _derive(Explanation if name == "memory_explain" else Related, brief=False)
    told: Output = DESCRIBED[name]["result"]
    if name == "memory_search":
        hit = _derive(Hit, brief=True)
        del hit["properties"]["evidence"]
        found = {"results": {"type": "array", "items": hit}, "asOf": _derive(AsOf, brief=True)}
        told = {**told, "properties": found | told["properties"]}
    return told


def _derive(record: type, *, brief: bool) -> Output:
    """Return the JSON Schema of what `to_json` makes of a record."""
    from pydantic import TypeAdapter

    derived = TypeAdapter(record).json_schema(mode="serialization")
    definitions = derived.get("$defs", {})

    def convert(part: Any) -> Any:
        if isinstance(part, list):
            return [*map(convert, part)]
        if "$ref" in part:
            return convert(definitions[part["$ref"].rpartition("/")[2]])
        if "properties" not in part:
            plain = {key: value for key, value in part.items() if key not in ("title", "default", "description")}
            return plain | {key: convert(part[key]) for key in ("items", "anyOf") if key in part}
        properties, required = {}, []
        for name, each in part["properties"].items():
            key, found = _KEYS.get(name, to_camel(name)), convert(each)
            if brief and (each.get("default", ...) is None or each.get("default") is False):
                [found, *_] = found.get("anyOf", [found])  # None is left out
            else:
                required.append(key)
            if found.get("type") == "integer":
                found["minimum"] = 1 if key in _FROM_ONE else 0
            if (part["title"], key) in _SHARES:
                found |= {"minimum": 0, "maximum": 1}
            properties[key] = found
        if part["title"] in _CITED:
            properties["citation"] = {"type": "string"}
        return {"type": "object", "properties": properties, "required": required}

    shaped: Output = convert(derived)
    return shaped
