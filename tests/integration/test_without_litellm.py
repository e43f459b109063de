"""The provider "litellm" without litellm, which is an extra: the static model answers, and everybody says what to install."""

from __future__ import annotations

import json
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


CLONE, WHEEL = "file:///srv/clone", "file:///srv/memory_core_py-0.1.0-py3-none-any.whl"
REPOSITORY = "https://example.org/memory-core"


@pytest.mark.parametrize("extra", ["litellm", "mcp", "local"])
@pytest.mark.parametrize(
    ("installed", "origin"),
    [
        (None, ""),
        ({"url": CLONE, "dir_info": {}}, f" @ {CLONE}"),
        ({"url": WHEEL, "archive_info": {}}, f" @ {WHEEL}"),
        ({"url": REPOSITORY, "vcs_info": {"vcs": "git", "commit_id": "1"}}, f" @ git+{REPOSITORY}"),
    ],
)
def test_an_extra_is_installed_in_three_ways_from_where_the_program_came(
    extra: str, installed: dict[str, object] | None, origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "memory_core_py-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: memory-core-py\nVersion: 0.1.0\n")
    if installed is not None:
        (metadata / "direct_url.json").write_text(json.dumps(installed))
    monkeypatch.syspath_prepend(tmp_path)
    kept = "memory-core-py[mcp]" if extra == "mcp" else f"memory-core-py[mcp,{extra}]"

    assert explain_install(extra) == (
        f'Install it: pip install "memory-core-py[{extra}]" (or pipx install --force "{kept}{origin}", '
        f'or uvx --from "memory-core-py[{extra}]{origin}" memory-core).'
    )
