"""Agents whose memory is QMD: the fake one, and the real one if it is installed."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Access, Query, SearchResult
from memory_qmd.backend import QmdBackend
from memory_qmd.config import QmdConfig, QmdLimits

# Read before the fixtures clear these variables.
REAL = os.environ.get("MEMORY_CORE_QMD_HOME")
EMBED_MODEL = os.environ.get("MEMORY_CORE_QMD_EMBED_MODEL")
# The faults that may befall one call, and their frequencies.
FAULTS = ["none", "hang", "crash", "flood", "garbage", "empty", "exit 1 boom", "exit 127 node"]
FAULT_WEIGHTS = [80, 1, 6, 1, 6, 6, 6, 6]
# The machine of a test may be busy: only tests of deadlines have short ones.
PATIENT = QmdLimits(timeout_ms=60_000)
PATIENT_SEARCH = SearchSettings(sync=SyncSettings(on_search_budget_ms=60_000))
HANG_GUARD_SECONDS = (
    120.0  # the fake hangs for 600 s: whoever waits for it takes longer than this, a busy machine does not
)
# A server that was not ready in time on a busy machine is started again after a minute.
WARM_SECONDS = 200.0
FAKE = Path(__file__).with_name("fake_qmd.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the real one, before those of a mark are chosen."""
    for item in items:
        ours = item.path.is_relative_to(FAKE.parent)
        if ours and {"real", "old"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("real_qmd")


@dataclass
class FakeQmd:
    """The fake QMD as a test sees it."""

    program: Path
    faults: Path
    log: Path

    def fail(self, **faults: str | list[str]) -> None:
        """Set the faults of the next calls, by subcommand or `any`; without arguments nothing fails."""
        document = {("*" if name == "any" else name.replace("_", "/")): fault for name, fault in faults.items()}
        self.faults.write_text(json.dumps(document))

    def calls(self, command: str | None = None) -> list[list[str]]:
        """List the calls so far, without those for the version."""
        every: list[list[str]] = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [call for call in every if call[0] == command or (command is None and call[0] != "--version")]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeQmd:
    folder = tmp_path / "fake"
    folder.mkdir()
    program = folder / "qmd"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(FAKE))} "$@"\n')
    program.chmod(0o755)
    qmd = FakeQmd(program, folder / "faults.json", folder / "calls.jsonl")
    qmd.fail()
    qmd.log.touch()
    monkeypatch.setenv("FAKE_QMD_FAULTS", str(qmd.faults))
    monkeypatch.setenv("FAKE_QMD_CALLS", str(qmd.log))
    return qmd


@dataclass
class QmdAgent:
    """An agent with a workspace; opens backends, which are closed at the end of the test."""

    config: AgentConfig
    settings: QmdConfig
    opened: list[QmdBackend] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.config.state_dir / "agents" / self.config.agent / "qmd"

    @property
    def workspace(self) -> Path:
        return self.config.workspace

    def open(
        self,
        *,
        access: Access = "rw",
        search: SearchSettings | None = None,
        **settings: Any,
    ) -> QmdBackend:
        """Open a backend; keyword arguments replace parts of the section."""
        config = self.config if search is None else replace(self.config, search=search)
        section = replace(self.settings, **settings)
        backend = QmdBackend(BackendContext(config=config, settings=section, access=access))
        self.opened.append(backend)
        return backend

    def note(self, path: str, text: str) -> Path:
        """Write a note into the workspace."""
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


def agent_on(tmp_path: Path, workspace: Path, program: Path) -> QmdAgent:
    state = tmp_path / "state"
    config = AgentConfig(
        agent="main",
        workspace=workspace,
        state_dir=state,
        store_path=state / "memory" / "main.sqlite",
        search=PATIENT_SEARCH,
    )
    return QmdAgent(config, QmdConfig(command=str(program), limits=PATIENT))


def close_after(agent: QmdAgent) -> Iterator[QmdAgent]:
    yield agent
    for backend in agent.opened:
        backend.memory_close()


@pytest.fixture
def agent(tmp_path: Path, fake: FakeQmd) -> Iterator[QmdAgent]:
    """An agent on the fake QMD with an empty workspace."""
    workspace = tmp_path / "empty"
    workspace.mkdir()
    yield from close_after(agent_on(tmp_path, workspace, fake.program))


def real_program(name: str) -> Path:
    """Return a launcher that `install.py` made; skip the test if there is none."""
    if REAL is None:
        pytest.skip("runs with `make test-qmd`, which installs the real QMD and sets MEMORY_CORE_QMD_HOME")
    program = Path(REAL) / "bin" / name
    if not program.exists():
        pytest.skip(f"{program} is not installed: run `make test-qmd`")
    return program


@pytest.fixture
def real(tmp_path: Path, workspace: Path) -> Iterator[QmdAgent]:
    """An agent on the real QMD 2.8.3 with the sample workspace."""
    yield from close_after(agent_on(tmp_path, workspace, real_program("qmd")))


@pytest.fixture
def old(tmp_path: Path, workspace: Path) -> Iterator[QmdAgent]:
    """An agent on the real QMD 0.9.0 with the sample workspace."""
    yield from close_after(agent_on(tmp_path, workspace, real_program("qmd-0.9.0")))


def message(role: str, content: object) -> str:
    """Build a line of a session's log."""
    return json.dumps({"type": "message", "message": {"role": role, "content": content}})


def log(folder: Path, name: str, *lines: str) -> Path:
    """Write a session's log."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def ask(backend: QmdBackend, text: str, **query: Any) -> SearchResult:
    return backend.memory_search(Query(text=text, **query))


def paths(result: SearchResult) -> list[str]:
    return [hit.path for hit in result.hits]


def list_children(fake: FakeQmd) -> list[str]:
    """List the command lines of this test's QMD processes, which their environment identifies."""
    mark = f"FAKE_QMD_FAULTS={fake.faults}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                ours = mark in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if ours and ("fake_qmd.py" in line or "time.sleep(600)" in line):
                found.append(line)
    return found
