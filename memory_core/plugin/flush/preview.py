"""A preview of the memory flush of one session; nothing is run and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.errors import InvalidArgument
from memory_core.plugin.flush import cycles
from memory_core.plugin.flush.policy import FlushTurn, Session, compute_threshold, plan_flush, should_flush
from memory_core.sources import sessions_json

LISTED = 8  # sessions that an error names


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The decision about one session now, and the turn that it leads to.

    Attributes:
        session: The session key; the transcript's name if `sessions.json` does not know the session.
        transcript: The session's JSONL file; None if there is none.
        transcript_bytes: The size of that file; None if there is none.
        total_tokens: The size of the context as the host recorded it; None if it did not.
        context_tokens: The model's window, likewise.
        threshold_tokens: The number of tokens from which a turn is due; None if the window is unknown.
        compaction_count: The number of compactions so far.
        flushed_compaction_count: The number of compactions at the last flush; None if there was none.
        due: A turn is due.
        code: The reason for programs, see `policy.Decision.code`.
        reason: The reason in a sentence.
        target: The note that the turn may write; None if no turn is due, as are the attributes below.
        prompt: The user message of the turn.
        system_prompt: The text appended to the agent's system prompt.
        tools: The names of the tools offered.
    """

    session: str
    transcript: Path | None
    transcript_bytes: int | None
    total_tokens: float | None
    context_tokens: float | None
    threshold_tokens: int | None
    compaction_count: int
    flushed_compaction_count: int | None
    due: bool
    code: str
    reason: str
    target: str | None = None
    prompt: str | None = None
    system_prompt: str | None = None
    tools: tuple[str, ...] = ()


def preview(config: AgentConfig, named: str) -> Preview:
    """Preview the flush of a session as if its host asked now.

    Args:
        config: The agent's.
        named: A session key of the agent's `sessions.json` or of the record of `cycles`, or the path of a transcript. If a
            `sessions.json` in the transcript's folder names it, that entry counts.

    Raises:
        InvalidArgument: There is no such session.
        SessionsUnusable: The `sessions.json` cannot be read.
    """
    session = cycles.count(_find(config, named), config, write=False)
    decision = should_flush(session, config)
    turn = plan_flush(session, config) if decision.due else None
    transcript = Path(session.transcript) if session.transcript else None
    transcript = transcript if transcript and transcript.is_file() else None
    return Preview(
        session=session.key,
        transcript=transcript,
        transcript_bytes=transcript.stat().st_size if transcript else None,
        total_tokens=session.total_tokens,
        context_tokens=session.context_window,
        threshold_tokens=_find_threshold(session.context_window, config),
        compaction_count=session.cycle,
        flushed_compaction_count=session.flushed_compaction_count,
        due=decision.due,
        code=decision.code,
        reason=decision.reason,
        **({} if turn is None else _describe_turn(turn)),  # type: ignore[arg-type]  # as the class names them
    )


def _find_threshold(window: object, config: AgentConfig) -> int | None:
    """Return the threshold for a window of `sessions.json`, which may be anything; None if it is no count."""
    return compute_threshold(window, config.compaction) if isinstance(window, int) and window > 0 else None


def _describe_turn(turn: FlushTurn) -> dict[str, object]:
    return {
        "target": turn.target, "prompt": turn.prompt, "system_prompt": turn.system_prompt, "tools": tuple(turn.tools),
    }  # fmt: skip


def _find(config: AgentConfig, named: str) -> Session:
    sessions = sessions_json.read(config.sessions_dir / sessions_json.FILE_NAME)
    if named in sessions:
        return _load_session(config, config.sessions_dir, named)
    ours = cycles.read(config)
    if named in ours:
        return Session(agent=config.agent, key=named)
    path = Path(expand_home(named))
    if not path.is_file():
        known = ", ".join(list(dict.fromkeys([*sessions, *ours]))[:LISTED])
        raise InvalidArgument(
            "--session",
            "names no transcript and no session key; " + (f"known are {known}" if known else "no key is known yet"),
        )
    beside = sessions_json.read(path.parent / sessions_json.FILE_NAME)
    keys = [key for key, entry in beside.items() if isinstance(entry, dict) and entry.get("sessionId") == path.stem]
    return (
        _load_session(config, path.parent, keys[0])
        if keys
        else Session(agent=config.agent, key=path.stem, transcript=path)
    )


def _load_session(config: AgentConfig, folder: Path, key: str) -> Session:
    entry = sessions_json.read_entry(folder / sessions_json.FILE_NAME, key)
    transcript = folder / f"{entry.get('sessionId', '')}.jsonl"
    return Session.from_entry(config.agent, key, entry, transcript=transcript)
