"""Equal hits stand in one order, however and whenever the notes were indexed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.plugin.memory import Memory
from memory_core.records import CallContext

CALLER = CallContext.local("main")
ITEMS = (
    "the dentist, a school trip and a shelf in the cellar",
    "Lena paints the fence",
    "the harbour crane is repaired",
)
QUESTIONS = (
    "shelf in the cellar",
    "Who paints the fence?",
    "crane",
    "2026-01-11",
    "dentist or harbour",
    "a trip with the school",
)


def _notes(count: int) -> dict[str, str]:
    notes = {"MEMORY.md": "# Memory\n\n- the harbour crane is repaired\n"}
    for day in range(count):
        month, of_month = divmod(day, 28)
        lines = [f"# Notes\n\n## Part\n\n{ITEMS[(day + part) % 3]}\n\n{ITEMS[part % 3]}\n" for part in range(2)]
        notes[f"memory/2026-{month + 1:02d}-{of_month + 1:02d}.md"] = "\n".join(lines)
    return notes


def _write(workspace: Path, notes: Mapping[str, str]) -> None:
    for path, text in notes.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(text)


def _ask(memory: Memory, max_results: int) -> list[Any]:
    answers = [
        memory.call_tool("memory_search", {"query": question, "maxResults": max_results}, CALLER)
        for question in QUESTIONS
    ]
    return [answer["results"] for answer in answers]


@pytest.mark.parametrize("provider", ["static", "none"])
@pytest.mark.parametrize("max_results", [3, 20])
def test_an_index_that_grew_answers_as_one_made_at_once(tmp_path: Path, provider: str, max_results: int) -> None:
    """Equal lines in eighty notes, indexed in another order, some twice, some edited and put back."""
    config = {"agents": {"defaults": {"memorySearch": {"provider": provider}}}}
    workspace, notes, dice = tmp_path / "workspace", _notes(80), random.Random(7)
    with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "grown") as grown:
        paths = dice.sample(sorted(notes), len(notes))
        for at in range(0, len(paths), 16):
            _write(workspace, {path: notes[path] for path in paths[at : at + 16]})
            grown.sync()
        for path in dice.sample(paths, 12):
            (workspace / path).unlink()
        _write(workspace, dict.fromkeys(dice.sample(paths, 12), "# Something else\n"))
        grown.sync()
        _write(workspace, notes)
        grown.sync()
        found = _ask(grown, max_results)
    with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "anew") as anew:
        assert found == _ask(anew, max_results)
    assert all(found)
