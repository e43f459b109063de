"""The provider "litellm" without litellm, which is an extra: the static model answers, and everybody says what to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import memory_core
from memory_core.__about__ import explain_install


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(sys.modules, "litellm", None)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("The kettle is in the kitchen.\n")
    return tmp_path / "notes"


def test_the_static_model_answers_and_says_what_to_install(workspace: Path, tmp_path: Path) -> None:
    section = {"provider": "litellm", "model": "cohere/embed-v4.0", "sync": {"onSearchBudgetMs": 30_000}}
    with memory_core.open_memory(
        {"memorySearch": section}, workspace=workspace, state_dir=tmp_path / "state"
    ) as memory:
        answer = memory.call_tool("memory_search", {"query": "Where is the pot for boiling water?"})
        status = memory.status()

    assert (answer["provider"], answer["mode"]) == ("static", "hybrid")
    assert explain_install("litellm") in answer["warning"]
    assert (status.provider, status.pending) == ("static", 0)
    assert any(explain_install("litellm") in warning for warning in status.warnings)


@pytest.mark.parametrize("extra", ["litellm", "mcp", "local"])
def test_an_extra_is_installed_in_three_ways(extra: str) -> None:
    wanted, kept = (
        f'"memory-core-py[{extra}]"',
        '"memory-core-py[mcp]"' if extra == "mcp" else f'"memory-core-py[mcp,{extra}]"',
    )
    assert explain_install(extra) == (
        f"Install it: pip install {wanted} (or pipx install --force {kept}, or uvx --from {wanted} memory-core)."
    )
