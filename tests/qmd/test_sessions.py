"""Sessions as a collection of their own: exported, sanitised, found, and forgotten in time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from memory_qmd.config import QmdLimits, QmdSessions, QmdUpdate
from memory_qmd.sessions import export_sessions, transcript
from tests.qmd.conftest import Bench, ask, paths


def message(role: str, content: object) -> str:
    return json.dumps({"type": "message", "message": {"role": role, "content": content}})


def log(folder: Path, name: str, *lines: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_only_what_was_said_is_exported(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        "s1",
        json.dumps({"type": "session", "id": "s1"}),
        message("user", "Paint the\nfence?"),
        message("assistant", [{"type": "text", "text": "Yes, green."}, {"type": "tool_use", "input": "rm -rf"}]),
        message("toolResult", "payload"),
        message("system", "prompt"),
        message("user", ""),
        "{broken",
        "[1]",
        message("user", 3),
    )
    assert transcript(path) == "User: Paint the fence?\n\nAssistant: Yes, green."


def test_secrets_are_redacted(tmp_path: Path) -> None:
    path = log(tmp_path, "s1", message("user", "use ghp_abcdefghijklmnopqrstuvwxyz1234567890 and password: hunter2"))
    said = transcript(path)
    assert said.startswith("User: use [redacted]")
    assert "hunter2" not in said


def test_exports_follow_their_log_and_outlive_it(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    path = log(tmp_path / "in", "s1", message("user", "fence"))
    export_sessions(tmp_path / "in", folder, retention_days=None)
    (exported,) = folder.iterdir()
    before = exported.stat()
    export_sessions(tmp_path / "in", folder, retention_days=None)
    assert exported.stat().st_ino == before.st_ino
    log(tmp_path / "in", "s1", message("user", "gate"))
    os.utime(path, ns=(before.st_mtime_ns + 1, before.st_mtime_ns + 1))
    export_sessions(tmp_path / "in", folder, retention_days=None)
    assert "gate" in exported.read_text()
    path.unlink()
    export_sessions(tmp_path / "in", folder, retention_days=None)
    assert exported.exists()


def test_old_sessions_are_forgotten_and_other_files_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    log(tmp_path / "in", "s1", message("user", "fence"))
    export_sessions(tmp_path / "in", folder, retention_days=30)
    foreign = folder / "session-mine.md"
    foreign.write_text("my own file")
    os.utime(foreign, (0, 0))
    later = time.time() + 31 * 86_400
    export_sessions(tmp_path / "in", folder, retention_days=30, now=later)
    assert list(folder.iterdir()) == [foreign]


@pytest.mark.parametrize("which", ["fake", "real"])
def test_sessions_are_found_in_their_own_collection(request: pytest.FixtureRequest, which: str) -> None:
    bench: Bench = request.getfixturevalue("bench" if which == "fake" else "real")
    log(bench.config.sessions_dir, "2026-s1", message("user", "The zebra costs 40, password: hunter2"))
    bench.note("MEMORY.md", "fence")
    backend = bench.open(
        sessions=QmdSessions(enabled=True), update=QmdUpdate(debounce_ms=0), limits=QmdLimits(timeout_ms=20_000)
    )
    backend.memory_sync(force=False, progress=None)
    (hit,) = ask(backend, "zebra").hits
    assert (hit.path, hit.source) == ("qmd/sessions-main/session-2026-s1.md", "sessions")
    assert "hunter2" not in hit.snippet
    assert backend.memory_get(hit.path, 1, 1).text == "# Session 2026-s1"
    assert paths(ask(backend, "hunter2")) == []
    assert (bench.home / "sessions").is_dir()
