"""An index of schema 9, whose texts are packed and vectors coded otherwise, is made anew; nothing is embedded again.

`index-9.sqlite.gz` is what the version before schema 10 has made of these notes, first with the static model, then with
`CountingProvider(dimensions=48)`, where an index of 16 chunks was large enough for it to pack texts and token ids.
"""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memory_core.embeddings.static import StaticProvider
from memory_core.errors import NotIndexed
from memory_core.stores.sqlite.store import SqliteStore
from tests.fakes.providers import CountingProvider
from tests.index import Index
from tests.integration.test_sync import prose

OLDER = Path(__file__).parents[1] / "data/older/index-9.sqlite.gz"
DIMENSIONS = 48


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """The notes, and the older index of them."""
    index = Index(tmp_path / "notes", tmp_path / "state")
    for n in range(5):
        index.note(f"memory/2026-01-0{n + 1}.md", f"# Day {n}\n\n{prose(12, start=n * 9)}")
    index.state.mkdir()
    older = gzip.decompress(OLDER.read_bytes())
    path = index.state / "main.sqlite"
    path.write_bytes(older)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'workspace'", (str(index.workspace.resolve()),))
    return index


def test_who_may_only_read_is_told_what_to_do(index: Index) -> None:
    reading = SqliteStore(index.store.path, writable=False)
    with pytest.raises(NotIndexed, match="made by an older version") as caught, reading.read():
        pass
    assert caught.value.action == "run: memory-core index"
    reading.close()


@pytest.mark.parametrize("provider", [CountingProvider(dimensions=DIMENSIONS), StaticProvider()])
def test_the_next_sync_embeds_nothing(index: Index, provider: CountingProvider | StaticProvider) -> None:
    report = index.sync(provider)
    assert (report.embedded, report.reindexed, report.added) == (0, False, 5)
    assert [path.name for path in index.state.iterdir() if "main.sqlite" in path.name and path.suffix == ".new"] == []
    twin = Index(index.workspace, index.state / "twin", index.search)
    twin.sync(provider)
    held, fresh = index.content(provider), twin.content(provider)
    for (key, older), (fresh_key, newer) in zip(held.pop("embedded"), fresh.pop("embedded"), strict=True):
        assert key == fresh_key
        kind = "<f4" if len(newer) == 4 * DIMENSIONS else "i1"
        assert np.allclose(np.frombuffer(older, kind), np.frombuffer(newer, kind), atol=1e-3)  # it was rounded
    assert held == fresh
