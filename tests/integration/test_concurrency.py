"""Many processes on one index: readers never fail or come back empty while others sync, rebuild and the notes change.

`MEMORY_CORE_CROWD_SECONDS` says for how long.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Chunking, SearchSettings, SyncSettings
from memory_core.embeddings.static import StaticProvider
from memory_core.hookspecs import BackendContext
from memory_core.records import Access, Query
from tests.command import REPOSITORY
from tests.index import Index

SECONDS = float(os.environ.get("MEMORY_CORE_CROWD_SECONDS", "6"))
PATIENCE_SECONDS = 120.0
SEARCH = SearchSettings(
    provider="static", chunking=Chunking(tokens=60, overlap=0), sync=SyncSettings(on_search_budget_ms=300)
)
WORDS = ("harbour", "dentist", "fence", "paint", "school", "kettle", "marble", "violin", "copper")
STEADY = "The lighthouse keeper lights the lantern at dusk.\n"  # in a note that never changes

# Reads "go" when it is loaded, works until the time is over, and tells what happened.
PROGRAM = """
import json, sys, time
from pathlib import Path
from tests.integration.test_concurrency import Client
client = Client(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(client.work(float(sys.argv[4]))), flush=True)
"""


def config_of(workspace: Path, state: Path) -> AgentConfig:
    return AgentConfig(
        agent="main", workspace=workspace, state_dir=state, store_path=state / "main.sqlite", search=SEARCH
    )


class Client:
    """One process' part.

    Args:
        workspace: The notes.
        state: Where the index is.
        role: "reader" may not write, "searcher" syncs before it searches, "syncer" syncs and now and then rebuilds.
    """

    def __init__(self, workspace: Path, state: Path, role: str) -> None:
        access: Access = "ro" if role == "reader" else "rw"
        self.backend = BuiltinBackend(BackendContext(config=config_of(workspace, state), access=access))
        self.step = self.sync if role == "syncer" else self.search
        self.turns = itertools.count(1)
        self.stale = 0
        self.search()

    def work(self, seconds: float) -> dict[str, Any]:
        """Work for so long; what is told is counted in calls and, for the slowest of them, in seconds."""
        count, slowest, until = 0, 0.0, time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            self.step()
            slowest = max(slowest, time.monotonic() - began)
            count += 1
            time.sleep(0.05)  # nobody asks without a pause
        self.backend.memory_close()
        return {"count": count, "slowest": slowest, "stale": self.stale}

    def search(self) -> None:
        result = self.backend.memory_search(Query(text="Who lights the lantern at dusk?", min_score=0.0))
        assert result.hits, result
        assert result.hits[0].path == "memory/steady.md", result
        assert result.warning is None, result
        self.stale += result.stale

    def sync(self) -> None:
        report = self.backend.memory_sync(next(self.turns) % 5 == 0, None)
        assert not report.failures, report
        assert not report.warnings, report


def change(workspace: Path, dice: random.Random) -> None:
    """One note is written anew, moved or deleted."""
    file = workspace / "memory" / f"{dice.randrange(40)}.md"
    if dice.random() < 0.2 and file.exists():
        file.unlink()
    elif dice.random() < 0.2 and file.exists():
        file.rename(workspace / "memory" / f"{dice.randrange(40)}.md")
    else:
        draft = file.with_suffix(".draft")
        lines = (" ".join([*dice.choices(WORDS, k=9), f"n{dice.randrange(10**9)}."]) for _ in range(40))
        draft.write_text("\n".join(lines))
        draft.replace(file)


def test_a_crowd_on_one_index(tmp_path: Path) -> None:
    workspace, state, dice = tmp_path / "notes", tmp_path / "state", random.Random(5)
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "steady.md").write_text(STEADY)
    for _ in range(60):
        change(workspace, dice)
    index = Index(workspace, state, SEARCH)
    index.sync(StaticProvider())

    roles = ["reader"] * 4 + ["searcher"] * 4 + ["syncer"] * 2
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(workspace), str(state), role, str(SECONDS)],
            cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )
        for role in roles
    ]  # fmt: skip
    try:
        for process in crowd:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == "ready\n", process.communicate(timeout=PATIENCE_SECONDS)
        for process in crowd:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            change(workspace, dice)
            time.sleep(0.05)  # twenty changes a second
        outcomes = [process.communicate(timeout=PATIENCE_SECONDS) for process in crowd]
    finally:
        for process in crowd:
            process.kill()
    errors = [err for _, err in outcomes]
    assert errors == [""] * len(crowd), "\n".join(errors)
    told = [json.loads(out) for out, _ in outcomes]
    for role in dict.fromkeys(roles):
        mine = [one for one, own in zip(told, roles, strict=True) if own == role]
        calls, stale = sum(one["count"] for one in mine), sum(one["stale"] for one in mine)
        print(f"\n{role}: {calls} calls, {stale} stale, slowest {max(one['slowest'] for one in mine):.2f} s", end="")
    assert all(one["count"] for one in told)

    with index.store.lock():
        pass  # nobody left it behind
    index.sync(StaticProvider())
    twin = Index(workspace, tmp_path / "twin", SEARCH)
    twin.sync(StaticProvider())
    assert index.content(StaticProvider()) == twin.content(StaticProvider())
    index.close()
    twin.close()
    db = apsw.Connection(str(state / "main.sqlite"))
    assert db.pragma("integrity_check") == "ok"
    db.close()
    left = {file.name for file in state.iterdir() if "history" not in file.name}
    assert left <= {"main.sqlite", "main.sqlite.lock"}


@pytest.mark.parametrize("force", [False, True])
def test_a_note_that_goes_after_it_was_listed_is_no_failure(force: bool, tmp_path: Path) -> None:
    index = Index(tmp_path / "notes", tmp_path / "state", SEARCH)
    for name in "ab":
        index.note(f"memory/{name}.md", STEADY)
    index.sync()
    index.note("memory/b.md", f"{STEADY}Again.\n")
    report = index.sync(force=force, progress=lambda _step: (tmp_path / "notes/memory/b.md").unlink(missing_ok=True))
    assert (report.failures, report.removed) == ((), 0)
    assert index.sync().removed == 1
    assert [row[1] for row in index.content()["files"]] == ["memory/a.md"]
    index.close()
