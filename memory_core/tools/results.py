"""Results of tools as a host gets them: JSON values, camelCase keys, and whatever goes wrong as data."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError, PathRefused

if TYPE_CHECKING:
    from memory_core.records import Document, Fallback, Hit, SearchResult

log = logging.getLogger(__name__)


# By Orbit's names or ours, as the tool was called.
_ASK_FOR_ANOTHER = {
    False: "ask for a path that memory_search returned",
    True: "ask for a path that search_memory returned",
}


def catch_errors(name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run a tool and return its result; an error becomes a result too, so that a host never sees an exception.

    Args:
        name: The tool's name, for the log.
        run: Makes the result, or raises.
    """
    try:
        return run()
    except InvalidArgument as error:
        return shape_invalid(error)
    except PathRefused as error:
        return shape_denied(str(error), error.action or _ASK_FOR_ANOTHER[name == "get_memory"])
    except ConfigError as error:
        return shape_unavailable(str(error), error.action or "correct the configuration: memory-core config check")
    except MemoryCoreError as error:
        return shape_unavailable(str(error), error.action or "run: memory-core status")
    except Exception as error:  # a tool call must never bring the host down
        log.exception("memory tool %s failed", name)
        return shape_unavailable(f"{type(error).__name__}: {error}", "report this, with the log, as a defect")


def cite(hit: Hit) -> str:
    """Return the citation of a hit: `path#L3-L9`, or `path#L3` for one line."""
    lines = f"L{hit.start_line}" if hit.start_line == hit.end_line else f"L{hit.start_line}-L{hit.end_line}"
    return f"{hit.path}#{lines}"


def shape_search(result: SearchResult, *, cite_hits: bool, citations: str) -> dict[str, Any]:
    """Return the result of memory_search."""
    shaped: dict[str, Any] = {
        "results": [_shape_hit(hit, cite_it=cite_hits) for hit in result.hits],
        "provider": result.provider,
        "model": result.model,
        "fallback": _shape_fallback(result.fallback),
        "backend": result.backend,
        "backendFallback": _shape_fallback(result.backend_fallback),
        "citations": citations,
        "mode": result.mode,
    }
    if result.stale:
        shaped["stale"] = True
    return shaped | {key: value for key, value in (("warning", result.warning), ("action", result.action)) if value}


def _shape_hit(hit: Hit, *, cite_it: bool) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "path": hit.path, "startLine": hit.start_line, "endLine": hit.end_line, "score": hit.score, "source": hit.source,
        "snippet": hit.snippet,
    }  # fmt: skip
    if hit.vector_score is not None:
        shaped["vectorScore"] = hit.vector_score
    if hit.text_score is not None:
        shaped["textScore"] = hit.text_score
    if cite_it:
        shaped["citation"] = cite(hit)
        shaped["snippet"] = f"{hit.snippet}\n\nSource: {shaped['citation']}"
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
    """Return the result of a call with a wrong argument."""
    return {"error": str(error), "code": "invalid_argument"}
