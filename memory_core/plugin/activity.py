"""Entries of the activity log for what the sessions of one agent do with its memory: places and counts, never a text."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config.agent import AgentConfig
from memory_core.errors import StoreError
from memory_core.sources.activity import Action, Activity, append_entry, load_entries

if TYPE_CHECKING:
    from memory_core.plugin.flush.policy import FlushTurn
    from memory_core.plugin.flush.runner import FlushOutcome

log = logging.getLogger(__name__)


def record_tool(config: AgentConfig, name: str, result: Mapping[str, Any], session: str | None) -> None:
    """Record the call of a tool that has been allowed and has succeeded; a call that only looked around is no entry.

    Args:
        config: The agent's.
        name: The tool's own name.
        result: As the session is given it.
        session: The key of the session.
    """
    if name not in _DESCRIBE or "error" in result:
        return
    described = _DESCRIBE[name](result)
    if described is not None:
        action, places, outcome = described
        _record(config, action, name, session, places, outcome=outcome)


def record_recall(config: AgentConfig, places: Sequence[str], session: str | None) -> None:
    """Record what recall has put in front of a message."""
    if places:
        _record(config, "recalled", "recall", session, places)


def record_capture(config: AgentConfig, ids: Sequence[str], session: str | None) -> None:
    """Record the items that capture has learned from a session."""
    if ids:
        _record(config, "stored", "capture", session, ids)


def record_flush(config: AgentConfig, turn: FlushTurn, outcome: FlushOutcome) -> None:
    """Record how a flush turn went."""
    places = [turn.target] if outcome.status == "stored" else []
    _record(config, "flushed", "flush", turn.session_key, places, outcome=outcome.status)


def load(config: AgentConfig, *, limit: int, session: str | None) -> list[Activity]:
    """Return the last entries of the log, the latest first.

    Args:
        config: The agent's.
        limit: The most entries.
        session: Only those of the session with this key; None is all.

    Raises:
        StoreError: The log cannot be read.
    """
    try:
        return load_entries(config.activity_path, limit=limit, session=session)
    except OSError as error:
        action = "delete it; a new one is begun"
        raise StoreError(config.activity_path, f"cannot be read: {error.strerror}", action=action) from error


# By tool: the action, the places and the outcome of a call that has succeeded; None if it is no entry.
_DESCRIBE: Mapping[str, Callable[[Mapping[str, Any]], tuple[Action, Sequence[str], str] | None]] = {
    "memory_search": lambda found: ("recalled", [_cite(hit) for hit in found["results"]], ""),
    "memory_get": lambda found: (
        ("recalled", [_cite({**found, "startLine": found["from"]})], "") if found["status"] == "ok" else None
    ),
    "memory_append": lambda done: ("stored", [_cite(done)] if done["appended"] else [], done["status"]),
    "memory_store": lambda done: ("stored", [done["id"]] if "id" in done else [], done["status"]),
    "memory_recall": lambda found: ("recalled", [hit["id"] for hit in found["results"]], ""),
    "memory_forget": lambda done: ("forgot", done["deleted"], done["status"]) if "deleted" in done else None,
}


def _cite(place: Mapping[str, Any]) -> str:
    line = place.get("startLine")
    return f"{place['path']}#L{line}" if line else str(place["path"])


def _record(
    config: AgentConfig, action: Action, by: str, session: str | None, places: Sequence[str], *, outcome: str = ""
) -> None:
    if not (config.enabled and config.search.activity.enabled):
        return
    entry = Activity(
        at=time.time(), action=action, by=by, session=None if session is None else _redact(session),
        places=tuple(places), count=len(places), outcome=outcome,
    )  # fmt: skip
    try:
        append_entry(config.activity_path, entry)
    except OSError as error:
        _warn(config.activity_path, str(error.strerror))


@lru_cache(maxsize=256)
def _redact(session: str) -> str:
    """Return a session's key without secrets, in case a host makes keys of what people write."""
    from memory_core.sources.redaction import redact

    return redact(session)


@lru_cache(maxsize=64)  # once for each problem, not at every call
def _warn(path: Path, reason: str) -> None:
    log.warning("activity is not recorded in %s: %s", path, reason)
