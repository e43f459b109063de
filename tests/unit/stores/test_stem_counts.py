"""Counts of stems are those of the index as it is now."""

from __future__ import annotations

from pathlib import Path

from tests.index import Index


def test_counts_follow_the_notes(tmp_path: Path) -> None:
    index = Index(tmp_path / "notes", tmp_path / "state")
    for expected in (1, 2):
        index.note(f"memory/{expected}.md", "A violin.\n")
        index.sync()
        for _ in range(2):  # the second time from memory
            with index.store.read() as reader:
                assert reader.count_by_stem(["violin", "kettle"]) == {"violin": expected}
    index.close()
