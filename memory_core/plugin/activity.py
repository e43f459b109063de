"""The activity log as sessions and commands write it: it tells of places and counts, never of a text."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.errors import StoreError
from memory_core.sources.activity import Action, Activity, append_entry, load_entries

log = logging.getLogger(__name__)


def record(
    config: AgentConfig, action: Action, by: str, session: str | None, places: Sequence[str], *, outcome: str = ""
) -> None:
    """Append an entry, where the log is kept; a log that cannot be written is a warning.

    Args:
        config: The agent's.
        action: See `Activity`, as for all others.
        by: The tool or the command, or "recall", "capture" or "flush".
        session: The key of the session; None outside of sessions, or for several.
        places: Citations of notes, or ids of items.
        outcome: How it went.
    """
    if not (config.enabled and config.search.activity.enabled):
        return
    if session is not None:  # hosts may make keys of what people write
        from memory_core.sources.redaction import redact

        session = redact(session)
    entry = Activity(
        at=time.time(), action=action, by=by, session=session, places=tuple(places), count=len(places), outcome=outcome
    )
    try:
        append_entry(config.activity_path, entry)
    except OSError as error:
        _warn(config.activity_path, str(error.strerror))


@lru_cache(maxsize=64)  # once for each problem, not at every call
def _warn(path: Path, reason: str) -> None:
    log.warning("activity is not recorded in %s: %s", path, reason)


def record_call(config: AgentConfig, tool: str, session: str | None, result: Mapping[str, Any]) -> None:
    """Record a call of a tool if it has succeeded; one that only looked around is no entry."""
    described = _DESCRIBE[tool](result) if tool in _DESCRIBE and "error" not in result else None
    if described is not None:
        action, places, outcome = described
        record(config, action, tool, session, places, outcome=outcome)


def load(path: Path, *, limit: int, session: str | None) -> list[Activity]:
    """Return the last entries of a log, the latest first; see `load_entries`.

    Raises:
        StoreError: The log cannot be read.
    """
    try:
        return load_entries(path, limit=limit, session=session)
    except OSError as error:
        raise StoreError(path, f"cannot be read: {error.strerror}", action="delete it; a new one is begun") from error


def _cite(place: Mapping[str, Any]) -> str:
    line = place.get("startLine")
    return f"{place['path']}#L{line}" if line else str(place["path"])


# By tool: the action, the places and the outcome of a call that has succeeded; None if it is no entry.
_DESCRIBE: Mapping[str, Callable[[Mapping[str, Any]], tuple[Action, Sequence[str], str] | None]] = {
    "memory_search": lambda found: ("recalled", [_cite(hit) for hit in found["results"]], ""),
    "memory_get": lambda found: (
        ("recalled", [_cite({**found, "startLine": found["from"]})], "") if found["status"] == "ok" else None
    ),
    "memory_append": lambda done: ("stored", [_cite(done)] if done["appended"] else [], done["status"]),
    "memory_store": lambda done: ("stored", [done["id"]] if "id" in done else [], done["status"]),
    "memory_recall": lambda found: ("recalled", [hit["id"] for hit in found["results"]], ""),
    "memory_resolve": lambda done: (
        ("stored", [f"{done['path']}#L{done['line']}"], "accepted") if "path" in done else None
    ),
    "memory_forget": lambda done: ("forgot", done["deleted"], done["status"]) if "deleted" in done else None,
}
