"""Of notes that answer equally well the newer one comes first, and age alone hides or moves no note."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

import memory_core


def ago(days: int) -> str:
    return f"memory/{date.today() - timedelta(days)}.md"  # noqa: DTZ011 -- notes are of local days


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


def test_an_older_note_that_fits_better_stays_before_a_newer_one(tmp_path: Path) -> None:
    notes = tmp_path / "ws" / "memory"
    notes.mkdir(parents=True)
    (notes / Path(ago(3000)).name).write_text("The colour of the garden fence is green.\n")
    (notes / Path(ago(1)).name).write_text("The colour of the garden fence is the same as the shed.\n")
    config = {"memorySearch": {"provider": "static"}}
    with memory_core.open_memory(config, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as memory:
        memory.sync()
        answer = memory.call_tool("memory_search", {"query": "What colour is the garden fence?"})
    assert [hit["path"] for hit in answer["results"]] == [ago(3000), ago(1)]
