"""Statements and advice of the QMD backend in each situation: status, probe, doctor, sync and search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memory_core.cli.output import print_status
from memory_core.errors import BackendUnavailable, MemoryCoreError
from memory_core.hookspecs import BackendContext
from memory_core.plugin.memory import open_memory
from memory_core.records import Finding
from memory_qmd.config import QmdModels, QmdPath, QmdSessions, QmdUpdate
from memory_qmd.doctor import diagnose
from tests.qmd.conftest import FakeQmd, QmdAgent, ask
from tests.qmd.test_doctor import findings

INSTALL = "install Node 22.14 or newer and QMD (npm install -g @tobilu/qmd), or set memory.qmd.command"
INDEX = "run: memory-core index"
DOCTOR = "run: memory-core doctor"
NEW_NODE = "run QMD with Node 22.14 or newer: under an older one it crashes without a message"
MODEL_FILE = "set memory.qmd.models.embed to a GGUF file"


@dataclass
class Place:
    agent: QmdAgent
    fake: FakeQmd
    folder: Path


@pytest.fixture
def place(agent: QmdAgent, fake: FakeQmd, tmp_path: Path) -> Place:
    """One note, indexed."""
    agent.note("MEMORY.md", "fence")
    agent.open().memory_sync(force=False, progress=None)
    return Place(agent, fake, tmp_path)


def spoil_database(place: Place) -> None:
    for file in place.agent.home.glob("index.sqlite*"):
        file.unlink()
    (place.agent.home / "index.sqlite").write_bytes(b"garbage " * 1000)


def put_folder(place: Place) -> None:
    for file in place.agent.home.glob("index.sqlite*"):
        file.unlink()
    (place.agent.home / "index.sqlite").mkdir()


def break_model(place: Place) -> QmdModels:
    (place.folder / "page.gguf").write_bytes(b"<html>not found</html>")
    return QmdModels(embed=str(place.folder / "page.gguf"))


def fail_to_embed(place: Place) -> None:
    (place.folder / "a.gguf").write_bytes(b"GGUF fine")
    place.fake.fail(embed="exit 1 boom")
    models = QmdModels(embed=str(place.folder / "a.gguf"))
    place.agent.open(search_mode="vsearch", models=models).memory_sync(force=False, progress=None)


SHORT = QmdUpdate(command_timeout_ms=200)


class Row(NamedTuple):
    """A situation, the subject of the doctor's finding, and its action."""

    name: str
    faults: dict[str, str]
    prepare: Callable[[Place], object]
    settings: Callable[[Place], dict[str, Any]]
    subject: str
    action: str


FINDINGS = [
    Row("not installed", {}, lambda place: None, lambda place: {"command": "no-such-qmd"}, "program", INSTALL),
    Row("hangs", {"any": "hang"}, lambda place: None, lambda place: {"update": SHORT}, "node",
     "try it in a terminal: {program} collection list; a slow machine needs a longer memory.qmd.update.commandTimeoutMs"),
    Row("crashes", {"any": "crash"}, lambda place: None, lambda place: {}, "node", NEW_NODE),
    Row("no node", {"any": "exit 127 node: not found"}, lambda place: None, lambda place: {}, "node", INSTALL),
    Row("fails", {"any": "exit 1 boom"}, lambda place: None, lambda place: {}, "node",
     "try it in a terminal: {program} collection list"),
    Row("floods", {"any": "flood"}, lambda place: None, lambda place: {}, "node",
     "try it in a terminal: {program} collection list"),
    Row("no version", {"--version": "exit 1 boom"}, lambda place: None, lambda place: {}, "version",
     "try it in a terminal: {program} --version"),
    Row("damaged", {}, spoil_database, lambda place: {}, "database", INDEX),
    Row("a folder in place of the database", {}, put_folder, lambda place: {}, "database",
     "see that it is a file that this user may read and write: {home}/index.sqlite"),
    Row("not indexed", {}, lambda place: place.agent.note("memory/a.md", "gate"), lambda place: {}, "database", INDEX),
    Row("a folder of notes is gone", {}, lambda place: None,
     lambda place: {"paths": (QmdPath(path=str(place.folder / "gone")),)}, "collections", "correct memory.qmd.paths"),
    Row("sessions not exported yet", {}, lambda place: None,
     lambda place: {"sessions": QmdSessions(enabled=True)}, "collections", INDEX),
    Row("an edited configuration", {}, lambda place: (place.agent.home / "config" / "index.yml").write_text("{}"),
     lambda place: {}, "collections", INDEX),
    Row("no model file", {}, lambda place: None,
     lambda place: {"search_mode": "vsearch", "models": QmdModels(embed="/no/such.gguf")}, "models", MODEL_FILE),
    Row("no model but a web page", {}, lambda place: None,
     lambda place: {"search_mode": "vsearch", "models": break_model(place)}, "models", MODEL_FILE),
    Row("a model to download", {}, lambda place: None, lambda place: {"search_mode": "vsearch"}, "models",
     "download it (qmd pull puts QMD's own models into ~/.cache/qmd/models) and set memory.qmd.models.embed to the file"),
    Row("embedding failed", {}, fail_to_embed,
     lambda place: {"search_mode": "vsearch", "models": QmdModels(embed=str(place.folder / "a.gguf"))}, "models", INDEX),
]  # fmt: skip


@pytest.mark.parametrize("row", FINDINGS, ids=lambda row: row.name)
def test_the_action_of_a_finding(row: Row, place: Place) -> None:
    row.prepare(place)
    place.fake.fail(**row.faults)
    settings = row.settings(place)
    found = findings(place.agent, **settings)[row.subject]
    program, home = str(place.fake.program), str(place.agent.home)
    assert found.level != "ok"
    assert found.action == row.action.replace("{program}", program).replace("{home}", home)
    for finding in all_findings(place, settings):
        assert bool(finding.action) == (finding.level != "ok"), finding
        assert "memory-core doctor" not in finding.action


def all_findings(place: Place, settings: Mapping[str, Any]) -> list[Finding]:
    section = replace(place.agent.settings, **settings)
    return diagnose(BackendContext(config=place.agent.config, settings=section))


# What a call raises: the fault, the settings, the action.
RAISED: list[tuple[str, Mapping[str, str], dict[str, Any], str]] = [
    ("not installed", {}, {"command": "no-such-qmd"}, INSTALL),
    ("no node", {"any": "exit 127 node: not found"}, {}, INSTALL),
    ("crashes", {"any": "crash"}, {}, NEW_NODE),
    ("fails", {"any": "exit 1 boom"}, {}, DOCTOR),
    ("garbage", {"query": "garbage"}, {}, DOCTOR),
]


@pytest.mark.parametrize(("faults", "settings", "action"), [row[1:] for row in RAISED], ids=[row[0] for row in RAISED])
def test_the_action_of_a_search_and_a_probe(
    faults: dict[str, str], settings: dict[str, Any], action: str, place: Place
) -> None:
    place.fake.fail(**faults)
    backend = place.agent.open(**settings)
    with pytest.raises(BackendUnavailable) as error:
        ask(backend, "fence")
    assert error.value.action == action
    if "query" not in faults:
        assert backend.memory_probe().action == action


def test_the_action_of_a_probe_without_a_model(place: Place) -> None:
    models = QmdModels(embed="/no/such.gguf")
    probe = place.agent.open(search_mode="vsearch", models=models).memory_probe()
    assert (probe.ok, probe.action) == (False, MODEL_FILE)


def test_a_sync_that_makes_no_embeddings_says_what_to_do(place: Place) -> None:
    models = QmdModels(embed="/no/such.gguf")
    report = place.agent.open(search_mode="vsearch", models=models).memory_sync(force=False, progress=None)
    assert report.warnings == (
        f"the embed model /no/such.gguf cannot be read (no such file or directory); {MODEL_FILE}",
    )
    (warning,) = place.agent.open(search_mode="vsearch", models=models).memory_status().warnings
    assert warning.endswith(MODEL_FILE)


def test_a_reader_is_told_who_may_index(place: Place) -> None:
    reader = place.agent.open(access="ro")
    with pytest.raises(MemoryCoreError) as error:
        reader.memory_sync(force=False, progress=None)
    assert error.value.action == INDEX


# Status.


@pytest.mark.parametrize("found", [True, False])
def test_status_says_vec0_only_where_there_is_a_table(place: Place, found: bool) -> None:
    (place.folder / "a.gguf").write_bytes(b"GGUF fine")
    backend = place.agent.open(search_mode="vsearch", models=QmdModels(embed=str(place.folder / "a.gguf")))
    status = backend.memory_status()
    assert (status.vector, status.vector_reason) == ("off", "there are no embeddings yet")
    if found:
        place.fake.fail()
        backend.memory_sync(force=False, progress=None)
        assert (backend.memory_status().vector, backend.memory_status().vector_reason) == ("vec0", None)


def test_status_without_qmd_is_that_of_the_backend_that_answers(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        place.agent.note(f"memory/{number}.md", "gate")
    config = {
        "memory": {"backend": "qmd", "qmd": {"command": "no-such-qmd"}},
        "memorySearch": {"provider": "none"},
    }
    with open_memory(config, workspace=place.agent.workspace, state_dir=place.agent.config.state_dir) as memory:
        before = memory.status()
        assert (before.backend, before.files) == ("builtin", 0)
        memory.sync()
        for _ in range(5):  # also once the breaker is open
            status = memory.status()
            assert (status.backend, status.files, status.indexed) == ("builtin", 4, True)
            assert status.backend_fallback is not None
            assert (status.backend_fallback.origin, status.backend_fallback.to) == ("qmd", "builtin")
            assert status.backend_fallback.reason == f"'no-such-qmd' is not installed; {INSTALL}"
            memory.call_tool("memory_search", {"query": "gate"})
        print_status(memory.status())
    shown = capsys.readouterr()
    assert "builtin is used instead of qmd: 'no-such-qmd' is not installed" in shown.err
    assert "index" in shown.out


def test_status_of_a_damaged_database_says_so(place: Place) -> None:
    spoil_database(place)
    status = place.agent.open().memory_status()
    assert status.files == 0
    assert any("damaged" in warning and INDEX in warning for warning in status.warnings)
