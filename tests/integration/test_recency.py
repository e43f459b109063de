"""Newer notes rank higher where that is asked for; nothing is found or lost by it."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import memory_core

QUESTION = "What colour is the garden fence?"
GOOD, FAIR = "The colour of the garden fence is green.\n", "The colour of the garden fence is the same as the shed.\n"


def ago(days: int) -> str:
    return f"memory/{date.today() - timedelta(days)}.md"  # noqa: DTZ011 -- notes are of local days


def found(folder: Path, notes: dict[str, str], **decay: Any) -> list[tuple[str, float]]:
    """Path and score of every hit at the default minScore, best first."""
    for path, text in notes.items():
        (folder / "ws" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "ws" / path).write_text(text, encoding="utf-8")
    settings = {"provider": "static", "query": {"hybrid": {"temporalDecay": decay}}}
    config = {"agents": {"defaults": {"memorySearch": settings}}}
    with memory_core.open_memory(config, workspace=folder / "ws", state_dir=folder / "state") as memory:
        memory.sync()
        answer = memory.call_tool("memory_search", {"query": QUESTION})
        return [(hit["path"], hit["score"]) for hit in answer["results"]]


def test_an_older_note_ranks_behind_a_newer_one_that_fits_less(tmp_path: Path) -> None:
    notes = {ago(90): GOOD, ago(1): FAIR}
    as_it_is = found(tmp_path, notes)
    assert [path for path, _ in as_it_is] == [ago(90), ago(1)]
    assert found(tmp_path, notes, enabled=True) == as_it_is[::-1]
    assert found(tmp_path, notes, enabled=True, halfLifeDays=10_000) == as_it_is
    assert found(tmp_path, notes, enabled=True, floor=1) == as_it_is


def test_an_old_note_is_found_however_much_it_has_decayed(tmp_path: Path) -> None:
    """The threshold comes before the decay."""
    decayed = found(tmp_path, {ago(3000): GOOD}, enabled=True, halfLifeDays=1, floor=0)
    assert [path for path, _ in decayed] == [ago(3000)]
    assert decayed == found(tmp_path, {})


@pytest.mark.parametrize("evergreen", ["MEMORY.md", "memory/garden.md"])
def test_what_is_always_true_does_not_age(evergreen: str, tmp_path: Path) -> None:
    notes = {evergreen: GOOD, ago(400): FAIR}
    paths = [path for path, _ in found(tmp_path, notes, enabled=True)]
    assert paths == [evergreen, ago(400)]


def test_a_dated_heading_in_memory_md_makes_it_no_older(tmp_path: Path) -> None:
    notes = {"MEMORY.md": f"# Since 2001-01-01\n\n{GOOD}", ago(30): FAIR}
    assert found(tmp_path, notes, enabled=True)[0][0] == "MEMORY.md"


@pytest.mark.parametrize("provider", ["static", "none"])
def test_of_equal_notes_the_newer_one_is_first(tmp_path: Path, provider: str) -> None:
    """Where somebody changed their mind in the same words, the later word holds."""
    notes = tmp_path / "ws" / "memory"
    notes.mkdir(parents=True)
    for day in (400, 30, 200):
        (notes / Path(ago(day)).name).write_text(
            f"The colour of the garden fence is {'green' if day == 30 else 'white'}.\n"
        )
    config = {"memorySearch": {"provider": provider}}
    with memory_core.open_memory(config, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        memory.sync()
        answer = memory.call_tool("memory_search", {"query": "colour of the garden fence"})
    paths = [hit["path"] for hit in answer["results"]]
    assert [path for path in paths if path != ago(30)] == [ago(200), ago(400)]
    assert provider != "none" or paths[0] == ago(30)
