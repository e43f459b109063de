"""A sample history under git, and forty judged questions about it, both by an author who had not seen the product."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import memory_core
from memory_core.history.importing import import_git
from memory_core.plugin.memory import Memory

SAMPLE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "past" / "history.json").read_text(encoding="utf-8")
)
SHOWN = 3  # hits among which the line must stand


def _git(folder: Path, *arguments: str, at: float = 0) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_COMMITTER_DATE": f"{int(at)} +0000",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }  # fmt: skip
    subprocess.run(["git", "-C", str(folder), *arguments], env=environment, check=True, capture_output=True)


def live_through(workspace: Path) -> None:
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


def finds(memory: Memory, question: dict[str, Any], **asked: Any) -> bool:
    """Return True if the line that answers stands in one of the first hits."""
    path, line = question["gold"]
    found = memory.call_tool("memory_search", {"query": question["question"], **asked})
    hits = [hit for hit in found["results"][:SHOWN] if hit["path"] == path]
    return any(line.strip() in hit["snippet"] for hit in hits)


@contextmanager
def open_sample(folder: Path, search: dict[str, Any]) -> Iterator[Memory]:
    """Open the sample with its history in an empty folder.

    Args:
        folder: Of the workspace and the state.
        search: Settings of `memorySearch`.
    """
    live_through(folder / "workspace")
    config = {"agents": {"defaults": {"memorySearch": search}}}
    with memory_core.open_memory(config, workspace=folder / "workspace", state_dir=folder / "state") as memory:
        memory.sync()
        import_git(memory.config())
        yield memory


def find_missed(memory: Memory, **asked: Any) -> list[str]:
    """Return the questions whose line, as it was true then, does not stand in the first hits; `asked` goes into each call."""
    return [
        question["question"]
        for question in SAMPLE["questions"]
        if not finds(memory, question, asOf=question["asOf"], **asked)
    ]
