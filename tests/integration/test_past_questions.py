"""Forty judged questions about the past of a sample history, both by an author who had not seen the product."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.history.importing import import_git
from memory_core.plugin.memory import Memory

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

SAMPLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "past" / "history.json").read_text(encoding="utf-8")
)
SHOWN = 3  # hits among which the line must stand


def _git(folder: Path, *arguments: str, at: float = 0) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_COMMITTER_DATE": f"{int(at)} +0000",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }  # fmt: skip
    subprocess.run(["git", "-C", str(folder), *arguments], env=environment, check=True, capture_output=True)


def _live_through(workspace: Path) -> None:
    """Write each state of the sample, and commit it at its time."""
    workspace.mkdir()
    _git(workspace, "init", "-q")
    for state in SAMPLE["states"]:
        for path, text in state["changes"].items():
            file = workspace / path
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        _git(workspace, "add", "-A")
        _git(workspace, "commit", "-q", "-m", state["at"], at=datetime.fromisoformat(state["at"]).timestamp())


def _finds(memory: Memory, question: dict[str, Any], **asked: Any) -> bool:
    """Return True if the line that answers stands in one of the first hits."""
    path, line = question["gold"]
    found = memory.call_tool("memory_search", {"query": question["question"], **asked})
    hits = [hit for hit in found["results"][:SHOWN] if hit["path"] == path]
    return any(line.strip() in hit["snippet"] for hit in hits)


def _say_when(question: dict[str, Any], number: int) -> dict[str, Any]:
    """Say in the question, too, that it asks of the past."""
    asked = question["question"]
    said = (
        f"Originally, {asked}",
        f"{asked[:-1]} back then?",
        f"As of {question['asOf']}, {asked}",
        f"{asked[:-1]} at the time?",
    )
    return question | {"question": said[number % len(said)]}


@pytest.mark.parametrize(("provider", "least"), [("static", 33), ("none", 30)])
def test_what_was_true_then_is_found(tmp_path: Path, provider: str, least: int) -> None:
    _live_through(tmp_path / "workspace")
    config = {"agents": {"defaults": {"memorySearch": {"provider": provider}}}}
    with memory_core.open_memory(config, workspace=tmp_path / "workspace", state_dir=tmp_path / "state") as memory:
        memory.sync()
        import_git(memory.config())
        then = [_finds(memory, question, asOf=question["asOf"]) for question in SAMPLE["questions"]]
        now = sum(_finds(memory, question) for question in SAMPLE["questions"])
        told = [
            _finds(memory, _say_when(question, number), asOf=question["asOf"])
            for number, question in enumerate(SAMPLE["questions"])
        ]
    missed = [question["question"] for question, found in zip(SAMPLE["questions"], then, strict=True) if not found]
    print(f"{provider}: {sum(then)} of {len(then)} then, {now} by a search of the present; missed: {missed}")
    assert sum(then) >= least, missed
    assert told == then
    assert now <= len(then) // 3
