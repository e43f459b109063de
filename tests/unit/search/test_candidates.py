"""Candidates: the best of both sides together, and the best of each; how deep they are looked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from memory_core.records import Query
from memory_core.search.candidates import LOOKED_AT, MIN_DEPTH, RANKED_CHUNKS, SURE_OF_EACH, find_candidates
from memory_core.search.question import analyse
from memory_core.search.scores import Weights
from tests.index import Index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(Index(tmp_path / "notes", tmp_path / "state")) as made:
        yield made


@pytest.mark.parametrize(("share", "kept"), [(1.0, True), (0.05, False)])
def test_what_only_one_side_finds_is_looked_at(index: Index, share: float, *, kept: bool) -> None:
    """Also among more chunks than are ranked, all of which hold the word; unless that side counts next to nothing."""
    for number in range(2 * RANKED_CHUNKS):
        index.note(f"memory/{number:02}.md", f"- The kettle boiled dry, {number} times\n")
    index.note("memory/far.md", "- The violin has a new bridge\n")
    index.sync(None)
    with index.store.read() as reader:
        chunks = reader.load_chunks(range(1, reader.count_chunks() + 1))
        others = [chunk.id for chunk in chunks if chunk.path != "memory/far.md"]
        near = {chunk.id: 0.1 for chunk in chunks} | dict.fromkeys(others[: int(SURE_OF_EACH * RANKED_CHUNKS) - 1], 0.9)
        near[next(chunk.id for chunk in chunks if chunk.path == "memory/far.md")] = 0.4
        found, _, _ = find_candidates(
            reader, analyse(reader, "Which kettle?", date(2026, 3, 20)), Query(text="Which kettle?"), Weights(0.6, 0.4),
            multiplier=4, find_near=lambda _: near, near_share=share,
        )  # fmt: skip
    assert len(found) == RANKED_CHUNKS
    assert ("memory/far.md" in {each.chunk.path for each in found}) == kept


DEEPER = [MIN_DEPTH, MIN_DEPTH * LOOKED_AT]  # which finds all


@pytest.mark.parametrize(
    ("said", "note", "depths"),
    [
        ("It boiled dry.", "", DEEPER[:1]),
        ("It boiled dry.", "- The violin has a new bridge", DEEPER),
        ("Which kettle do you mean?", "", DEEPER),
    ],
)
def test_session_logs_are_looked_through_once_where_nothing_else_could_take_their_places(
    index: Index, said: str, note: str, depths: list[int]
) -> None:
    index.set(sources=("memory", "sessions"))
    folder = index.config.sessions_dir
    folder.mkdir(parents=True)
    for number in range(2 * RANKED_CHUNKS):
        messages = [
            {"role": "user", "content": f"The kettle, for the {number}th time?"},
            {"role": "assistant", "content": said},
        ]
        lines = [json.dumps({"type": "message", "message": each}) for each in messages]
        (folder / f"{number:02}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
    if note:
        index.note("memory/far.md", note)
    index.sync(None)
    looked: list[int] = []

    def find_near(depth: int) -> Mapping[int, float]:
        looked.append(depth)
        return {}

    with index.store.read() as reader:
        question = analyse(reader, "kettle boiled", date(2026, 3, 20))
        find_candidates(
            reader, question, Query(text="kettle boiled"), Weights(0.6, 0.4), multiplier=4, find_near=find_near
        )  # fmt: skip
    assert looked == depths
