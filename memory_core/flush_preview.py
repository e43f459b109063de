"""What a memory flush of one session would be now, and why; nothing is run and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memory_core import session_store
from memory_core.errors import InvalidArgument
from memory_core.flush import FlushTurn, Session, plan_flush, should_flush, threshold_tokens
from memory_core.settings import AgentConfig

LISTED = 8  # sessions that an error names


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What would happen.

    Attributes:
        session: The session key; the transcript's name when `sessions.json` does not know the session.
        transcript: Its JSONL file; None when there is none.
        transcript_bytes: Its size; None when there is none.
        total_tokens: As the host recorded them; None when it did not.
        context_tokens: The model's window, likewise.
        threshold_tokens: From how many tokens on a turn is due; None when the window is not known.
        compaction_count: How often the session has been compacted.
        flushed_compaction_count: The same at its last flush; None when there was none.
        due: Whether a turn is due.
        code: Why or why not, for programs; as `flush.Decision.code`.
        reason: The same in a sentence.
        target: The note that the turn may write; None when it is not due, as are those that follow.
        prompt: What the agent is asked.
        system_prompt: What is appended to its system prompt.
        tools: The names of the tools it has.
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
    """What would happen with a session if its host asked now.

    Args:
        config: The agent's.
        named: A session key of the agent's `sessions.json`, or a transcript; one beside a `sessions.json` that names it
            has that entry.

    Raises:
        InvalidArgument: There is no such session.
        SessionsUnusable: The `sessions.json` cannot be read.
    """
    session = _find(config, named)
    decision = should_flush(session, config)
    turn = plan_flush(session, config) if decision.due else None
    transcript = session.transcript if session.transcript and session.transcript.is_file() else None
    return Preview(
        session=session.key,
        transcript=transcript,
        transcript_bytes=transcript.stat().st_size if transcript else None,
        total_tokens=session.total_tokens,
        context_tokens=session.context_window,
        threshold_tokens=_threshold(session.context_window, config),
        compaction_count=session.cycle,
        flushed_compaction_count=session.flushed_compaction_count,
        due=decision.due,
        code=decision.code,
        reason=decision.reason,
        **({} if turn is None else _words(turn)),  # type: ignore[arg-type]  # as the class names them
    )


def _threshold(window: object, config: AgentConfig) -> int | None:
    """The threshold for a window as `sessions.json` has it, which may be anything; None where it is no count."""
    return threshold_tokens(window, config.compaction) if isinstance(window, int) and window > 0 else None


def _words(turn: FlushTurn) -> dict[str, object]:
    return {
        "target": turn.target, "prompt": turn.prompt, "system_prompt": turn.system_prompt, "tools": tuple(turn.tools),
    }  # fmt: skip


def _find(config: AgentConfig, named: str) -> Session:
    sessions = session_store.read(config.sessions_dir / session_store.FILE_NAME)
    if named in sessions:
        return _session(config, config.sessions_dir, named)
    path = Path(named).expanduser()
    if not path.is_file():
        known = ", ".join(list(sessions)[:LISTED])
        raise InvalidArgument(
            "--session",
            "no transcript and no session key; " + (f"known are {known}" if known else "no key is known yet"),
        )
    beside = session_store.read(path.parent / session_store.FILE_NAME)
    keys = [key for key, entry in beside.items() if isinstance(entry, dict) and entry.get("sessionId") == path.stem]
    return (
        _session(config, path.parent, keys[0]) if keys else Session(agent=config.agent, key=path.stem, transcript=path)
    )


def _session(config: AgentConfig, folder: Path, key: str) -> Session:
    entry = session_store.read_entry(folder / session_store.FILE_NAME, key)
    transcript = folder / f"{entry.get('sessionId', '')}.jsonl"
    return Session.from_entry(config.agent, key, entry, transcript=transcript)
