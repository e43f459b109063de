"""The doctor's findings on the fake QMD, and on the real one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.hookspecs import BackendContext
from memory_core.records import Finding
from memory_qmd.config import QmdModels, QmdPath
from memory_qmd.doctor import diagnose
from tests.qmd.conftest import FakeQmd, QmdAgent

if TYPE_CHECKING:
    import pytest


def findings(agent: QmdAgent, **settings: Any) -> dict[str, Finding]:
    """The worst finding on each subject."""
    context = BackendContext(config=agent.config, settings=replace(agent.settings, **settings))
    order = ["ok", "warn", "fail"]
    found: dict[str, Finding] = {}
    for finding in diagnose(context):
        if finding.subject not in found or order.index(finding.level) > order.index(found[finding.subject].level):
            found[finding.subject] = finding
    return found


def test_all_is_well(agent: QmdAgent) -> None:
    agent.note("MEMORY.md", "fence")
    agent.open().memory_sync(force=False, progress=None)
    found = findings(agent)
    assert {subject: finding.level for subject, finding in found.items()} == dict.fromkeys(
        ("program", "node", "version", "database", "collections", "models"), "ok"
    )


def test_no_program(agent: QmdAgent) -> None:
    found = findings(agent, command="no-such-qmd")
    assert list(found) == ["program"]
    assert "npm install" in found["program"].action


def test_a_silent_crash_is_explained(agent: QmdAgent, fake: FakeQmd) -> None:
    fake.fail(collection="crash")
    found = findings(agent)["node"]
    assert found.level == "fail"
    assert "SIGSEGV" in found.message
    assert "on PATH" in found.message
    assert "Node 22.14" in found.action


def test_an_old_version(agent: QmdAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_QMD_VERSION", "0.9.0")
    assert findings(agent)["version"].level == "warn"


def test_files_that_are_not_indexed(agent: QmdAgent) -> None:
    agent.note("MEMORY.md", "fence")
    found = findings(agent)["database"]
    assert (found.level, found.message) == ("warn", "0 of 1 files are indexed, 0 with embeddings")


def test_a_damaged_database(agent: QmdAgent, fake: FakeQmd) -> None:
    agent.note("MEMORY.md", "fence")
    agent.open().memory_sync(force=False, progress=None)
    fake.fail(collection="exit 1 file is not a database")
    (agent.home / "index.sqlite").write_bytes(b"garbage " * 1000)
    found = findings(agent)
    assert (found["node"].level, found["database"].level) == ("fail", "fail")


def test_a_missing_root_and_an_edited_configuration(agent: QmdAgent, tmp_path: Path) -> None:
    agent.note("MEMORY.md", "fence")
    agent.open().memory_sync(force=False, progress=None)
    missing = QmdPath(path=str(tmp_path / "gone"))
    assert "does not exist" in findings(agent, paths=(missing,))["collections"].message
    (agent.home / "config" / "index.yml").write_text("{}")
    assert "does not match the configuration" in findings(agent)["collections"].message


def test_models_that_are_missing(agent: QmdAgent, tmp_path: Path) -> None:
    models = QmdModels(embed=str(tmp_path / "none.gguf"))
    found = findings(agent, search_mode="vsearch", models=models)["models"]
    assert found.level == "warn"
    assert "none.gguf" in found.message


def test_the_real_one(real: QmdAgent) -> None:
    real.open().memory_sync(force=False, progress=None)
    assert {finding.level for finding in findings(real).values()} == {"ok"}
