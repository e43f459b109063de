"""Results of tools as a host gets them: JSON values, camelCase keys, and whatever goes wrong as data."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError, PathRefused
from memory_core.records import to_json
from memory_core.text.messages import replace_surrogates

if TYPE_CHECKING:
    from datetime import datetime

    from memory_core.records import AsOf, Document, Explanation, Fallback, Hit, Now, Related, SearchResult

log = logging.getLogger(__name__)

T = TypeVar("T")


# By Orbit's names or ours, as the tool was called.
_ASK_FOR_ANOTHER = {
    False: "ask for a path that memory_search returned",
    True: "ask for a path that search_memory returned",
}


def shape_failure(error: Exception, name: object) -> dict[str, Any]:
    """Return the result of a tool call that has raised, so that a host never sees an exception.

    Args:
        error: The exception. One that is not ours is logged as a defect.
        name: The tool's name as the host gave it, for the log.
    """
    if not isinstance(error, MemoryCoreError):
        error = explain_defect(error, _describe_tool(name))
    return make_encodable(shape_error(error, name))


def _describe_tool(name: object) -> str:
    return f"memory tool {name!r:.80}" if isinstance(name, str) else "a memory tool"


def explain_defect(error: Exception, what: str) -> MemoryCoreError:
    """Log an exception that none of our code raises on purpose, and return it as an error of ours.

    Args:
        error: The exception.
        what: What failed, for the log.
    """
    log.error("%s failed", what, exc_info=error)
    try:
        message = str(error)
    except Exception as unspeakable:  # noqa: BLE001 -- a host's own object may raise anything
        message = f"its message cannot be had ({type(unspeakable).__name__})"
    return MemoryCoreError(f"{type(error).__name__}: {message}", action="report this, with the log, as a defect")


def make_encodable(value: T) -> T:
    """Return a JSON value in which lone surrogates are U+FFFD: UTF-8, and so no protocol, can carry them."""
    return cast("T", _make_encodable(value))


def _make_encodable(value: object) -> object:
    if isinstance(value, str):
        return value if value.isascii() else replace_surrogates(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return {_make_encodable(key): _make_encodable(each) for key, each in value.items()}
    return [_make_encodable(each) for each in value] if isinstance(value, list | tuple) else value


def shape_error(error: MemoryCoreError, name: object = "") -> dict[str, Any]:
    """Return the result of a call, of the tool of this name, that ended with an error."""
    if isinstance(error, InvalidArgument):
        return shape_invalid(error)
    if isinstance(error, PathRefused):
        is_orbits = isinstance(name, str) and name == "get_memory"
        return shape_denied(str(error), error.action or _ASK_FOR_ANOTHER[is_orbits])
    if isinstance(error, ConfigError):
        return shape_unavailable(str(error), error.action or "correct the configuration: memory-core config check")
    return shape_unavailable(str(error), error.action or "run: memory-core status")


def cite(hit: Hit) -> str:
    """Return the citation of a hit: `path#L3-L9`, or `path#L3` for one line."""
    lines = f"L{hit.start_line}" if hit.start_line == hit.end_line else f"L{hit.start_line}-L{hit.end_line}"
    return f"{hit.path}#{lines}"


def shape_search(result: SearchResult, *, cite_hits: bool, citations: str) -> dict[str, Any]:
    """Return the result of memory_search."""
    shaped: dict[str, Any] = {
        "results": [_shape_hit(hit, result.as_of, cite_it=cite_hits) for hit in result.hits],
        "provider": result.provider,
        "model": result.model,
        "fallback": _shape_fallback(result.fallback),
        "backend": result.backend,
        "backendFallback": _shape_fallback(result.backend_fallback),
        "citations": citations,
        "mode": result.mode,
    }
    if result.as_of is not None:
        shaped["asOf"] = shape_as_of(result.as_of)
    if result.stale:
        shaped["stale"] = True
    return shaped | {key: value for key, value in (("warning", result.warning), ("action", result.action)) if value}


def _shape_hit(hit: Hit, as_of: AsOf | None, *, cite_it: bool) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "path": hit.path, "startLine": hit.start_line, "endLine": hit.end_line, "score": hit.score, "source": hit.source,
        "snippet": hit.snippet,
    }  # fmt: skip
    if hit.vector_score is not None:
        shaped["vectorScore"] = hit.vector_score
    if hit.text_score is not None:
        shaped["textScore"] = hit.text_score
    if hit.now is not None:
        shaped["now"] = _shape_now(hit.now)
    if (newer := hit.superseded_by) is not None:
        place = {"path": newer.path, "line": newer.line, "text": newer.text}
        shaped["supersededBy"] = place if newer.since is None else {**place, "since": newer.since}
    if cite_it:
        shaped["citation"] = cite(hit) if as_of is None else f"{cite(hit)} (as of {_show(as_of.moment)})"
    return shaped


def _shape_fallback(fallback: Fallback | None) -> dict[str, str] | None:
    return None if fallback is None else {"from": fallback.origin, "to": fallback.to, "reason": fallback.reason}


def shape_document(found: Document) -> dict[str, Any]:
    """Return the result of memory_get."""
    shaped: dict[str, Any] = {
        "path": found.path, "text": found.text, "from": found.from_line, "lines": found.lines, "status": found.status,
    }  # fmt: skip
    if found.truncated:
        shaped["truncated"] = True
    if found.next_from is not None:
        shaped["nextFrom"] = found.next_from
    if found.as_of is not None:
        shaped["asOf"] = shape_as_of(found.as_of)
    if found.now is not None:
        shaped["now"] = found.now
    return shaped


def shape_as_of(as_of: AsOf) -> dict[str, str]:
    """Return the time of which an answer tells, in local time."""
    return {"instant": _show(as_of.instant), "moment": _show(as_of.moment)}


def _show(instant: datetime) -> str:
    return instant.astimezone().isoformat(timespec="milliseconds")


def _shape_now(now: Now) -> dict[str, Any]:
    shaped = {"status": now.status, "startLine": now.start_line, "endLine": now.end_line, "text": now.text}
    return {key: value for key, value in shaped.items() if value is not None}


def shape_explanation(found: Explanation) -> dict[str, Any]:
    """Return the result of memory_explain; a warning and its action stand in it where there are any."""
    return {
        key: value for key, value in to_json(found).items() if value is not None or key not in ("warning", "action")
    }


def shape_related(found: Related, *, cite_places: bool) -> dict[str, Any]:
    """Return the result of memory_related; every place in it has a citation where they are wanted."""
    shaped: dict[str, Any] = to_json(found)
    for key in ("stale", "warning", "action"):
        if not shaped[key]:
            del shaped[key]
    if cite_places:
        for places in (shaped["backlinks"], shaped["mentions"], *(each["places"] for each in shaped["beside"])):
            for place in places:
                place["citation"] = f"{place['path']}#L{place['line']}"
    return shaped


def shape_disabled(reason: str, action: str) -> dict[str, Any]:
    """Return the result of a call while memory is off."""
    return {"results": [], "disabled": True, "error": reason, "action": action}


def shape_unavailable(reason: str, action: str) -> dict[str, Any]:
    """Return the result of a call that memory, though on, cannot answer."""
    return {"results": [], "unavailable": True, "error": reason, "action": action}


def shape_denied(reason: str, action: str) -> dict[str, Any]:
    """Return the result of a call that the scope forbids in this chat, or for a path outside the agent's notes."""
    return {"results": [], "denied": True, "error": reason, "action": action}


def shape_invalid(error: InvalidArgument) -> dict[str, Any]:
    """Return the result of a call with a wrong argument; the agent's id comes from the host, not from the model."""
    return {"error": str(error), "code": "invalid_agent" if error.argument == "agent" else "invalid_argument"}
