"""Searches answer from the index as it is, whoever has changed or replaced its file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import memory_core


def test_what_another_memory_has_changed_is_found(tmp_path: Path) -> None:
    note = tmp_path / "notes/memory/a.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Garden\n\n- The heron stands by the pond.\n- The gate is green.\n", encoding="utf-8")
    config = {"memorySearch": {"provider": "static", "sync": {"onSearch": False, "watch": False}}}
    with (
        memory_core.open_memory(config, workspace=tmp_path / "notes", state_dir=tmp_path / "state") as ours,
        memory_core.open_memory(config, workspace=tmp_path / "notes", state_dir=tmp_path / "state") as theirs,
    ):

        def ask() -> list[tuple[Any, ...]]:
            answer = ours.call_tool("memory_search", {"query": "heron pond", "minScore": 0})
            assert answer["mode"] == "hybrid"
            return [(hit["startLine"], hit["score"], hit["snippet"]) for hit in answer["results"]]

        theirs.sync()
        assert ask() == ask() != []
        for line in ("The heron has left the pond.", "The heron is back at the pond."):
            note.write_text(f"A new line.\n\n# Garden\n\n- {line}\n- The gate is green.\n", encoding="utf-8")
            theirs.sync()
            found = ask()
            assert line in found[0][2]
            assert found == ask()


@pytest.mark.parametrize("provider", ["static", "none"])
def test_an_older_state_of_the_index_that_is_put_back_is_not_taken_for_the_newer_one(
    tmp_path: Path, provider: str
) -> None:
    notes = tmp_path / "notes/memory"
    notes.mkdir(parents=True)
    for number in range(20):
        (notes / f"{number}.md").write_text(f"Words about harbour number{number:02d} aaaa.\n", encoding="utf-8")
    config = {"memorySearch": {"provider": provider}}
    with memory_core.open_memory(config, workspace=tmp_path / "notes", state_dir=tmp_path / "state") as memory:

        def ask(text: str) -> str:
            results = memory.call_tool("memory_search", {"query": text})["results"]
            return str(results[0]["snippet"]) if results else ""

        ask("harbour")
        index = memory.config().store_path
        with closing(apsw.Connection(str(index))) as connection:
            connection.execute("VACUUM INTO ?", (str(tmp_path / "backup"),))
        for word in ("bbbb", "cccc"):
            (notes / "5.md").write_text(f"Words about harbour number05 {word}.\n", encoding="utf-8")
            assert word in ask(f"number05 {word}")
            (tmp_path / "copy").write_bytes((tmp_path / "backup").read_bytes())
            (tmp_path / "copy").replace(index)
        (notes / "5.md").write_text("Words about harbour number05 dddd.\n", encoding="utf-8")
        assert "dddd" in ask("number05 dddd")
        assert all("bbbb" not in ask(text) and "cccc" not in ask(text) for text in ("bbbb", "number05"))
