"""What the file of tidy returns of its proposals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.upkeep.proposals import Proposal
from memory_core.upkeep.store import TidyStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TidyStore]:
    made = TidyStore(tmp_path / "tidy.sqlite")
    yield made
    made.close()


def propose(store: TidyStore, path: str, score: float) -> str:
    made = Proposal(id=f"{path}-{score}", kind="long", path=path, line=1, text="", new="", why="", score=score)
    store.add_proposal(made)
    return made.id


def test_without_a_file_nothing_is_known_and_none_is_made(store: TidyStore) -> None:
    assert (store.list_proposals(), store.list_proposals(["a.md"]), store.find_rejected()) == ([], [], None)
    assert (store.list_edits(1), store.list_stamps()) == ([], {})
    assert not store.exists()


def test_proposals_of_some_notes_come_once_and_the_surest_first(store: TidyStore) -> None:
    low, other, high = propose(store, "a.md", 1.0), propose(store, "b.md", 2.0), propose(store, "c.md", 3.0)

    assert [each.id for each in store.list_proposals()] == [high, other, low]
    assert [each.id for each in store.list_proposals(["a.md", "c.md", "a.md"])] == [high, low]
    assert store.list_proposals([]) == []


def test_what_is_settled_is_not_listed(store: TidyStore) -> None:
    low, high = propose(store, "a.md", 1.0), propose(store, "a.md", 3.0)
    store.settle(high)

    assert [each.id for each in store.list_proposals(["a.md"])] == [low]
    assert store.find_rejected() == high
