"""Memory that is off embeds nothing, writes nothing, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_core import open_memory
from memory_core.errors import MemoryOff
from tests.command import Command

OFF = {
    "host.json5": ("{memorySearch: {enabled: false}}", "memorySearch.enabled is false"),
    "slot.json5": ('{plugins: {slots: {memory: "None"}}}', 'plugins.slots.memory is "none"'),
    "config.toml": ('[agent]\nname = "orbit"\n', "the file has no table [embedding]"),
}


@pytest.fixture(params=OFF)
def off(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    text, reason = OFF[request.param]
    path = tmp_path / request.param
    path.write_text(text)
    return path, reason


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("The secret word is kettle.\n")
    return tmp_path / "notes"


@pytest.mark.parametrize("words", [["index"], ["index", "--force"], ["probe"]])
def test_a_command_that_would_embed_refuses(
    words: list[str], off: tuple[Path, str], workspace: Path, tmp_path: Path
) -> None:
    config, reason = off
    outcome = Command(workspace, tmp_path / "state")("--config", str(config), *words)
    assert outcome.code == 2
    assert reason in outcome.error
    assert outcome.out == ""
    assert not (tmp_path / "state").exists()


def test_status_says_off_and_why(off: tuple[Path, str], workspace: Path, tmp_path: Path) -> None:
    config, reason = off
    command = Command(workspace, tmp_path / "state")
    outcome = command("--config", str(config), "status")
    assert outcome.code == 0
    assert f"off: {reason}" in " ".join(outcome.out.split())
    assert "vec0" not in outcome.out
    shown = command("--config", str(config), "status", "--json").json
    assert shown["backend"] == "none"
    assert not shown["indexed"]
    assert any(reason in warning for warning in shown["warnings"])
    assert not (tmp_path / "state").exists()


def test_doctor_says_off_and_opens_nothing(off: tuple[Path, str], workspace: Path, tmp_path: Path) -> None:
    config, reason = off
    findings = Command(workspace, tmp_path / "state")("--config", str(config), "doctor", "--json").json["findings"]
    assert [finding["subject"] for finding in findings] == ["config"]
    assert reason in json.dumps(findings[0]).replace('\\"', '"')


def test_the_library_refuses_too_and_starts_nothing(workspace: Path, tmp_path: Path) -> None:
    document = {"memorySearch": {"enabled": False}}
    with open_memory(document, workspace=workspace, state_dir=tmp_path / "state") as memory:
        with pytest.raises(MemoryOff, match=r"memorySearch\.enabled is false"):
            memory.sync()
        with pytest.raises(MemoryOff):
            memory.probe()
        memory.sync_soon()
        memory.start()
        memory.session_updated("main")
        assert memory.status().backend == "none"
        assert memory.call_tool("memory_search", {"query": "secret"})["disabled"]
    assert not (tmp_path / "state").exists()
