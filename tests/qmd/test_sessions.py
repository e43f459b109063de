"""Sessions as a collection of their own: exported, sanitised, found, and forgotten in time."""

from __future__ import annotations

import json
import os
import time

import pytest

from memory_qmd.config import QmdLimits, QmdSessions, QmdUpdate
from memory_qmd.indexing import export_sessions
from tests.qmd.conftest import QmdAgent, ask, log, message, paths


def exported(agent: QmdAgent, **options: float | None) -> dict[str, str]:
    """Export the agent's sessions into a folder, and read what lies there."""
    folder = agent.config.state_dir / "out"
    export_sessions(agent.config, folder, **{"retention_days": None, **options})
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_only_what_was_said_is_exported_without_secrets(agent: QmdAgent) -> None:
    log(
        agent.config.sessions_dir,
        "s1",
        json.dumps({"type": "session", "id": "s1", "timestamp": "2026-03-01T12:00:00"}),
        message("user", "Paint the\nfence? password: hunter2"),
        message("assistant", [{"type": "text", "text": "Yes, green."}, {"type": "tool_use", "input": "rm -rf"}]),
        message("toolResult", "payload"),
        "{broken",
    )
    log(agent.config.sessions_dir, "s2", message("toolResult", "payload"))
    assert exported(agent) == {
        "session-s1.md": "# Session s1, 2026-03-01\n\n"
        "User: Paint the\nfence? password: [redacted]\n\nAssistant: Yes, green.\n"
    }


def test_exports_follow_their_log_and_outlive_it(agent: QmdAgent) -> None:
    folder = agent.config.state_dir / "out"
    path = log(agent.config.sessions_dir, "s1", message("user", "fence"))
    exported(agent)
    before = (folder / "session-s1.md").stat()
    exported(agent)
    assert (folder / "session-s1.md").stat().st_ino == before.st_ino
    log(agent.config.sessions_dir, "s1", message("user", "gate"))
    os.utime(path, ns=(before.st_mtime_ns + 1, before.st_mtime_ns + 1))
    assert "gate" in exported(agent)["session-s1.md"]
    path.unlink()
    assert "gate" in exported(agent)["session-s1.md"]


def test_old_sessions_are_forgotten_and_other_files_left_alone(agent: QmdAgent) -> None:
    log(agent.config.sessions_dir, "s1", message("user", "fence"))
    assert list(exported(agent, retention_days=30)) == ["session-s1.md"]
    foreign = agent.config.state_dir / "out" / "session-mine.md"
    foreign.write_text("my own file")
    os.utime(foreign, (0, 0))
    later = time.time() + 31 * 86_400
    assert exported(agent, retention_days=30, now=later) == {"session-mine.md": "my own file"}


@pytest.mark.parametrize("which", ["fake", "real"])
def test_sessions_are_found_in_their_own_collection(request: pytest.FixtureRequest, which: str) -> None:
    agent: QmdAgent = request.getfixturevalue("agent" if which == "fake" else "real")
    log(agent.config.sessions_dir, "2026-s1", message("user", "The zebra costs 40, password: hunter2"))
    agent.note("MEMORY.md", "fence")
    backend = agent.open(
        sessions=QmdSessions(enabled=True), update=QmdUpdate(debounce_ms=0), limits=QmdLimits(timeout_ms=20_000)
    )
    backend.memory_sync(force=False, progress=None)
    (hit,) = ask(backend, "zebra").hits
    assert (hit.path, hit.source) == ("qmd/sessions-main/session-2026-s1.md", "sessions")
    assert "hunter2" not in hit.snippet
    assert backend.memory_get(hit.path, 1, 1).text == "# Session 2026-s1"
    assert paths(ask(backend, "hunter2")) == []
    assert (agent.home / "sessions").is_dir()
