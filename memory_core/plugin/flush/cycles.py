"""Compaction cycles for hosts that count none: when a cycle ends, and which were flushed. Only `preview` raises.

The host's own `compactionCount` decides wherever there is one. For all other sessions, cycles are counted in a file of the
same form, `<state dir>/memory-core/<agent>.sessions.json`. A cycle ends there when the host reports a compaction, or when
the session's tokens fall to `FALLEN` of those at its last flush turn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import InvalidArgument, LoggedProblems, SessionsUnusable
from memory_core.plugin.flush import policy
from memory_core.plugin.flush.policy import FlushTurn, Session, to_count
from memory_core.records import CallContext
from memory_core.sources import sessions_json
from memory_core.sources.sessions_json import Entry

if TYPE_CHECKING:
    from memory_core.plugin.flush.runner import FlushOutcome

logger = logging.getLogger(__name__)

# Of the tokens at the last flush turn. Compaction leaves half of a session or less. What takes less than a fifth away is
# something else: results of tools that the host prunes, or another model's way of counting.
FALLEN = 0.8
LISTED = 8  # sessions that an error names
MAX_SESSIONS = 1000  # the record is read at every turn; one of this size takes 3 ms

_COUNT, _TOKENS, _BY_HOST = "compactionCount", "memoryFlushTokens", "countedByHost"


def find_record(config: AgentConfig) -> Path:
    """Return the file in which an agent's cycles are counted where the host counts none."""
    return config.state_dir / "memory-core" / f"{config.agent}.{sessions_json.FILE_NAME}"


def count(session: Session, config: AgentConfig, *, write: bool = True) -> Session:
    """Return a session with its cycle and its last flush, as the host counts them, or else as they are counted here.

    Args:
        session: The session as the host describes it.
        config: The agent's.
        write: Remember that the session's tokens have fallen; False for a preview.
    """
    if not config.enabled:
        return session
    if session.compaction_count is None:
        host = _read(config.sessions_dir / sessions_json.FILE_NAME, session.key)
        known = Session.from_entry(session.agent, session.key, host)
        if session.flushed_compaction_count is None:
            session = replace(session, flushed_compaction_count=known.flushed_compaction_count)
        if known.compaction_count is not None:
            return replace(session, compaction_count=known.compaction_count, flush_failures=known.flush_failures)
    known_here = _read_own(config, session.key) if write else _read(find_record(config), session.key)
    entry = _of_transcript(known_here, session.session_id)
    if session.compaction_count is not None:
        return _add_flush_of_host_cycle(session, entry)
    return _count_here(session, entry, config, write=write and session.access == "rw")


def end(key: str, config: AgentConfig) -> None:
    """Count a compaction of a session whose host counts none; nothing is written for one that was never asked to save."""
    if not config.enabled:
        return
    host = _read(config.sessions_dir / sessions_json.FILE_NAME, key)
    flushed = "memoryFlushCompactionCount" in host
    if to_count(host.get(_COUNT)) is None and (flushed or _read_own(config, key)):
        _end_cycle(key, config)


def record(turn: FlushTurn, outcome: FlushOutcome, config: AgentConfig) -> bool:
    """Record the outcome of a flush turn; return False, with a warning, if that fails.

    It goes into the host's `sessions.json` if the session is in there, and into our own record if it is not, or if its cycles
    are counted here.
    """
    path = config.sessions_dir / sessions_json.FILE_NAME
    host = _read(path, turn.session_key)
    recorded = False
    if host:
        theirs = replace(turn, compaction_count=to_count(host.get(_COUNT)) or 0) if turn.counted_here else turn
        recorded = record_outcome(theirs, outcome, path)
    if recorded and not turn.counted_here:
        return True

    def prepare(entry: Entry) -> None:
        kept = _of_transcript(entry, turn.session_id)
        told = {
            "sessionId": turn.session_id or kept.get("sessionId", ""),
            "updatedAt": _now_ms(),
            _BY_HOST: not turn.counted_here,
            _COUNT: max(turn.compaction_count, to_count(kept.get(_COUNT)) or 0),
            _TOKENS: turn.total_tokens,
        }
        entry.clear()
        entry.update(kept | told)

    _read_own(config, turn.session_key)  # sets a damaged one aside
    return record_outcome(turn, outcome, find_record(config), prepare=prepare, keep=MAX_SESSIONS)


def record_outcome(
    turn: FlushTurn,
    outcome: FlushOutcome,
    sessions: Path,
    *,
    prepare: Callable[[dict[str, Any]], None] | None = None,
    keep: int | None = None,
) -> bool:
    """Record the outcome of a turn in a `sessions.json`; returns False, with a warning, if that fails.

    A turn that did not fail is the last one of its compaction cycle. So is the third failed one, with a warning.

    Args:
        turn: The turn.
        outcome: Its outcome.
        sessions: The file: the host's, or our own record.
        prepare, keep: See `sessions_json.record_flush`.
    """
    with LoggedProblems(logger, "The memory flush of %s could not be recorded", turn.session_key):
        failures = sessions_json.record_flush(
            sessions,
            turn.session_key,
            compaction_count=turn.compaction_count,
            at_ms=_now_ms(),
            failed=outcome.status == "failed",
            session_id=turn.session_id,
            prepare=prepare,
            keep=keep,
        )
        if failures >= sessions_json.FAILURES_PER_CYCLE:
            logger.warning(
                "The memory flush of %s is given up for this compaction cycle after %d failures; the last one: %s",
                turn.session_key,
                failures,
                outcome.reason,
            )
        return True
    return False


def _count_here(session: Session, entry: Mapping[str, Any], config: AgentConfig, *, write: bool) -> Session:
    known = Session.from_entry(session.agent, session.key, entry)
    cycle, failures = known.cycle, known.flush_failures
    flushed = known.flushed_compaction_count if entry else session.flushed_compaction_count
    now, before = session.total_tokens, to_count(entry.get(_TOKENS))
    asked = flushed == cycle or bool(failures)
    if asked and now and before and now <= before * FALLEN:
        logger.info("The tokens of %s fell from %d to %d: it was compacted", session.key, before, now)
        cycle, failures = cycle + 1, 0
        if write:
            _end_cycle(session.key, config)
    elif asked and now and not before and write:
        # It was flushed when nobody knew its tokens, or by an older version.
        learned = {_COUNT: cycle, "memoryFlushCompactionCount": flushed}
        _update(config, session.key, lambda kept: kept.update({**learned, **kept, _TOKENS: now}))
    return replace(
        session, compaction_count=cycle, flushed_compaction_count=flushed, flush_failures=failures, counted_here=True
    )


def _add_flush_of_host_cycle(session: Session, entry: Mapping[str, Any]) -> Session:
    """Add the last flush of a session whose host passes its count, but keeps no record of flushes."""
    if session.flushed_compaction_count is not None or entry.get(_BY_HOST) is not True:
        return session
    return replace(
        session,
        flushed_compaction_count=entry.get("memoryFlushCompactionCount"),
        flush_failures=sessions_json.count_failures(entry, session.cycle),
    )


def _end_cycle(key: str, config: AgentConfig) -> None:
    _update(config, key, lambda entry: entry.update({_COUNT: (to_count(entry.get(_COUNT)) or 0) + 1, _TOKENS: None}))


def _of_transcript(entry: Mapping[str, Any], session_id: str) -> Entry:
    """Return a session's entry; an empty one if it tells of a former transcript under the same key."""
    known = entry.get("sessionId")
    return {} if session_id and isinstance(known, str) and known and known != session_id else dict(entry)


def _update(config: AgentConfig, key: str, change: Callable[[Entry], None]) -> None:
    """Change a session's entry of our own record."""

    def change_now(entry: Entry) -> None:
        change(entry)
        entry["updatedAt"] = _now_ms()

    _read_own(config, key)  # sets a damaged one aside
    with LoggedProblems(logger, "The compaction cycle of %s is not counted", key):
        sessions_json.update(find_record(config), key, change_now, keep=MAX_SESSIONS)


def _read(path: Path, key: str) -> Entry:
    with LoggedProblems(logger, "What is known of the session %s is not read", key):
        return sessions_json.read_entry(path, key)
    return {}


def _read_own(config: AgentConfig, key: str) -> Entry:
    """Read a session's entry of our own record. A damaged one is moved aside: it costs each session one more flush."""
    path = find_record(config)
    with suppress(SessionsUnusable):  # `_read` says why
        if aside := sessions_json.set_aside_if_damaged(path, key):
            logger.warning("%s was damaged; it is now %s, and cycles are counted anew", path, aside.name)
    return _read(path, key)


def _now_ms() -> int:
    return int(time.time() * 1000)


def describe(context: CallContext, config: AgentConfig | None, key: str | None = None, **facts: Any) -> Session:
    """Describe a session before compaction.

    Args:
        context: The session, as for a tool call.
        config: The agent's; None leaves the host's `sessions.json` out.
        key: The session key; None is that of the context, or else that of the agent's main session.
        facts: Attributes of `Session` that the host knows better.
    """
    key = read_key(context) if key is None else key
    known = {"access": context.access, "chat_type": context.chat_type or "", "channel": context.channel or ""}
    entry = {} if config is None else _read(config.sessions_dir / sessions_json.FILE_NAME, key)
    return Session.from_entry(context.agent or DEFAULT_AGENT, key, entry, **(known | facts))


def read_key(context: CallContext) -> str:
    """Return the key of a session; a caller without one is the user of this machine, in the main session."""
    return context.session_key or f"agent:{context.agent or DEFAULT_AGENT}:main"


def preview(config: AgentConfig, named: str) -> dict[str, Any]:
    """Preview the flush of a session as if its host asked now; nothing is run and nothing is written.

    Args:
        config: The agent's.
        named: A session key of the agent's `sessions.json` or of our own record, or the path of a transcript. If a
            `sessions.json` in the transcript's folder names it, that entry counts.

    Returns:
        JSON: the session, whose key is the transcript's name if `sessions.json` does not know it; the decision; and the turn,
        whose texts are null if none is due.

    Raises:
        InvalidArgument: There is no such session.
        SessionsUnusable: The `sessions.json` cannot be read.
    """
    session = count(_find(config, named), config, write=False)
    decision = policy.should_flush(session, config)
    turn = policy.plan_flush(session, config) if decision.due else None
    transcript = Path(session.transcript) if session.transcript and Path(session.transcript).is_file() else None
    window = session.context_window
    return {
        "session": session.key,
        "transcript": transcript,
        "transcriptBytes": transcript.stat().st_size if transcript else None,
        "totalTokens": session.total_tokens,
        "contextTokens": window,
        "thresholdTokens": policy.compute_threshold(window, config.compaction) if window else None,
        "compactionCount": session.cycle,
        "flushedCompactionCount": session.flushed_compaction_count,
        "due": decision.due,
        "code": decision.code,
        "reason": decision.reason,
        "target": turn.target if turn else None,
        "prompt": turn.prompt if turn else None,
        "systemPrompt": turn.system_prompt if turn else None,
        "tools": list(turn.tools) if turn else [],
    }


def _find(config: AgentConfig, named: str) -> Session:
    sessions = sessions_json.read(config.sessions_dir / sessions_json.FILE_NAME)
    if named in sessions:
        return _load_session(config, config.sessions_dir, named)
    ours: sessions_json.Sessions = {}
    with suppress(SessionsUnusable):  # a damaged one counts nothing
        ours = sessions_json.read(find_record(config))
    if named in ours:
        return Session(agent=config.agent, key=named)
    path = Path(expand_home(named))
    if not path.is_file():
        known = ", ".join(list(dict.fromkeys([*sessions, *ours]))[:LISTED])
        told = f"known are {known}" if known else "no key is known yet"
        raise InvalidArgument("--session", f"names no transcript and no session key; {told}")
    beside = sessions_json.read(path.parent / sessions_json.FILE_NAME)
    keys = [key for key, entry in beside.items() if isinstance(entry, dict) and entry.get("sessionId") == path.stem]
    if keys:
        return _load_session(config, path.parent, keys[0])
    return Session(agent=config.agent, key=path.stem, transcript=path)


def _load_session(config: AgentConfig, folder: Path, key: str) -> Session:
    entry = sessions_json.read_entry(folder / sessions_json.FILE_NAME, key)
    transcript = folder / f"{entry.get('sessionId', '')}.jsonl"
    return Session.from_entry(config.agent, key, entry, transcript=transcript)
