"""What is pending is read in steps: each text once, whatever the step, and none twice that got its embedding meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_core.stores.interface import Place
from tests.fakes.providers import CountingProvider
from tests.index import Index
from tests.integration.test_sync import prose


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_every_pending_text_is_found(step: int, tmp_path: Path) -> None:
    index = Index(tmp_path / "notes", tmp_path / "state")
    for n in range(3):
        index.note(f"memory/{n}.md", prose(20, start=n * 10))  # half of it stands in the next note, too
    index.sync()
    found: list[bytes] = []
    place: Place | None = (0, -1)
    with index.store.read() as reader:
        while place is not None:
            windows, place = reader.find_pending(None, place, step)
            found += [window.hash for window in windows]
        assert len(set(found)) == reader.count_windows(distinct=True) == reader.count_pending(None)
    index.close()


def test_a_text_that_was_embedded_meanwhile_is_left_out(tmp_path: Path) -> None:
    index = Index(tmp_path / "notes", tmp_path / "state")
    provider = CountingProvider(dimensions=64)
    index.note("memory/a.md", prose(20))
    index.note("memory/b.md", prose(20))
    report = index.sync(provider)
    texts = [text for request in provider.requests for text in request]
    assert len(texts) == len(set(texts)) == report.embedded
    assert report.pending == 0
    index.close()
