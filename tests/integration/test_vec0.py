"""Vectors with sqlite-vec and without: the same hits, a reason in the status, and bits that stay level with the embeddings."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
import pytest

import memory_core
from memory_core.config.settings import Cache, SearchSettings, Vector
from memory_core.embeddings.static import StaticProvider
from memory_core.stores.sqlite import load_vec0
from memory_core.stores.sqlite.spaces import find_space
from memory_core.stores.sqlite.vectors import VectorIndex
from tests.command import REPOSITORY
from tests.fakes.providers import CountingProvider
from tests.index import Index
from tests.integration.test_sync import prose

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUESTIONS = [
    "Which musical instrument am I learning?",
    "What does PRS-2209 complain about?",
    "第一批样机什么时候从盐田港发出？",
]


def searched(workspace: Path, state: Path, vector: dict[str, Any]) -> tuple[list[Any], Any]:
    """The answers to the questions, and the status, with this `memorySearch.store.vector`."""
    config = {"agents": {"defaults": {"memorySearch": {"provider": "static", "store": {"vector": vector}}}}}
    with memory_core.open_memory(config, workspace=workspace, state_dir=state) as memory:
        memory.sync()
        answers = [memory.call_tool("memory_search", {"query": question}) for question in QUESTIONS]
        return answers, memory.status()


@pytest.fixture(scope="module")
def with_vec0(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> tuple[list[Any], Any]:
    return searched(sample, tmp_path_factory.mktemp("state"), {})


@pytest.fixture(scope="module")
def sample() -> Path:
    return REPOSITORY / "tests" / "data" / "sample"


def test_status_says_that_a_small_index_has_no_table_of_vec0(with_vec0: tuple[list[Any], Any]) -> None:
    answers, status = with_vec0
    assert status.vector == "exact"
    assert "more than 65,536" in status.vector_reason
    assert all(answer["mode"] == "hybrid" for answer in answers)


def test_status_says_by_what_vectors_are_searched(tmp_path: Path) -> None:
    """Nothing, a comparison of all, and vec0, as an index grows over the size from which vec0 has a table."""
    vectors = VectorIndex(Vector(), exact_limit=2)
    index = Index(tmp_path / "notes", tmp_path / "state", SearchSettings(provider="static"), vectors)

    def look() -> tuple[str, str | None]:
        index.store.vectors = vectors
        status = index.report_status()
        return status.vector, status.vector_reason

    index.note("a.md", "oak")  # is no note of memory: the index stays empty
    index.sync()
    assert look() == ("off", "there are no embeddings yet")
    index.note("memory/a.md", "The fence is of oak.")
    index.sync(StaticProvider())
    assert look() == ("exact", "all are compared; vec0 chooses first where there are more than 2")
    for number in range(3):
        index.note(f"memory/{number}.md", f"The gate number {number} is of iron.")
    index.sync(StaticProvider())
    assert look() == ("vec0", None)
    index.close()


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ({"enabled": False}, "memorySearch.store.vector.enabled is false"),
        ({"extensionPath": "/no/such/vec0.so"}, "/no/such/vec0.so does not exist"),
        ({"extensionPath": "{broken}"}, "cannot be loaded"),
    ],
    ids=["disabled", "missing", "broken"],
)
def test_without_vec0_the_same_hits_and_the_reason(
    vector: dict[str, Any], reason: str, with_vec0: tuple[list[Any], Any], sample: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "vec0.so"
    broken.write_bytes(b"\x7fELF and no more")
    vector = {key: value.format(broken=broken) if isinstance(value, str) else value for key, value in vector.items()}
    answers, status = searched(sample, tmp_path / "state", vector)
    assert answers == with_vec0[0]
    assert status.vector == "exact"
    assert reason in status.vector_reason


def test_without_embeddings_there_is_no_vector_side(sample: Path, tmp_path: Path) -> None:
    with memory_core.open_memory(
        {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}, workspace=sample, state_dir=tmp_path
    ) as memory:
        memory.sync()
        assert (memory.status().vector, memory.status().vector_reason) == ("off", None)


def test_loading_leaves_no_door_open(tmp_path: Path) -> None:
    """Extensions are enabled for this one load only, so that no SQL can load another."""
    with closing(apsw.Connection(str(tmp_path / "x.sqlite"))) as connection:
        assert load_vec0(connection, None) is None
        with pytest.raises(apsw.SQLError, match="not authorized"):
            connection.execute("SELECT load_extension('x')")


# Bits.


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An index that holds bits for more than 20 vectors."""
    made = Index(tmp_path / "notes", tmp_path / "state", vectors=VectorIndex(Vector(), exact_limit=20))
    yield made
    made.close()


@pytest.fixture
def provider() -> CountingProvider:
    return CountingProvider(dimensions=64)


def test_small_indexes_have_no_bits(index: Index, provider: CountingProvider) -> None:
    index.note("MEMORY.md", prose(10))
    index.sync(provider)
    assert bits(index) is None


def test_bits_find_what_the_exact_scan_finds(index: Index, provider: CountingProvider) -> None:
    for n in range(8):
        index.note(f"memory/{n}.md", prose(100, start=n * 100))
    index.sync(provider)
    assert len(bits(index) or ()) > 300
    for number in range(20):
        query = provider.embed_query(prose(1, start=number * 37))
        exact, approximate = near(index, provider, query, exact=True), near(index, provider, query)
        assert [found.hash for found in approximate[:10]] == [found.hash for found in exact[:10]]
        assert np.allclose(
            [found.cosine for found in approximate[:10]], [found.cosine for found in exact[:10]], atol=1e-6
        )


def test_bits_stay_level(index: Index, provider: CountingProvider) -> None:
    index.set(cache=Cache(max_entries=5))
    index.note("MEMORY.md", prose(120))
    for number, force in itertools.product(range(4), (False, True)):
        index.note("MEMORY.md", prose(120, start=number * 50 + force * 25))
        index.note(f"memory/{number}.md", prose(30, start=1000 + number * 7))
        if number:
            (index.workspace / f"memory/{number - 1}.md").unlink(missing_ok=True)
        index.sync(provider, force=force)
        assert bits(index) == embeddings(index, provider)


def test_bits_are_of_the_space_that_serves(index: Index) -> None:
    index.note("MEMORY.md", prose(120))
    old, new = CountingProvider("old", dimensions=64), CountingProvider("new", dimensions=128)
    index.sync(old)
    assert bits(index) == embeddings(index, old)
    new.requests_left = 1
    index.sync(new)
    assert bits(index) == embeddings(index, old)  # it serves still
    new.out, new.requests_left = False, None
    index.sync(new)
    assert bits(index) == embeddings(index, new)
    index.sync(None)
    index.sync(old)
    assert bits(index) == embeddings(index, old)


def test_old_texts_do_not_crowd_out_new_ones(index: Index, provider: CountingProvider) -> None:
    """The cache keeps embeddings that no note refers to; they are as near to the question as those that notes hold."""
    for number in range(12):
        index.note("MEMORY.md", "".join(f"The harbour dentist paints a fence {number} {n}.\n\n" for n in range(60)))
        index.sync(provider)
    query = provider.embed_query("harbour dentist paints fence")
    found = near(index, provider, query, limit=30)
    with index.store.read() as connection:
        held = {row[0] for row in connection.execute("SELECT hash FROM windows")}
    assert len(found) == min(30, len(held))
    assert all(one.hash in held for one in found)


def test_without_vec0_newer_texts_are_found_beside_the_bits(index: Index, provider: CountingProvider) -> None:
    index.note("MEMORY.md", prose(120))
    index.sync(provider)
    level = index.vectors
    index.vectors = VectorIndex(Vector(enabled=False), exact_limit=20)
    index.note("memory/new.md", "Something about a zeppelin.")
    index.sync(provider)
    query = provider.embed_query("something about a zeppelin")
    assert near(index, provider, query)[0].cosine == pytest.approx(1, abs=1e-3)
    index.vectors = level
    assert near(index, provider, query)[0].cosine == pytest.approx(1, abs=1e-3)
    index.note("memory/newer.md", "Something about a balloon.")
    index.sync(provider)
    assert bits(index) == embeddings(index, provider)


@pytest.mark.parametrize("dimensions", [64, 100, 384])
def test_signs_leave_out_little_and_score_nothing(index: Index, dimensions: int) -> None:
    provider = CountingProvider(dimensions=dimensions)
    for n in range(8):
        index.note(f"memory/{n}.md", prose(300, start=n * 300))
    index.sync(provider)
    index.vectors = VectorIndex(Vector(enabled=False), exact_limit=20)
    assert len(embeddings(index, provider)) > 600  # so that there is something to leave out
    for text in ("Something about a zeppelin.", "What was noted on day 250?", prose(1, start=333)):
        query = provider.embed_query(text)
        found, exact = near(index, provider, query, limit=10), near(index, provider, query, limit=10, exact=True)
        assert len(found) == 10
        assert found[0] == exact[0]
        assert len(set(found) & set(exact)) >= 7


def test_a_process_reads_the_bits_of_vec0_once_and_then_adds_newer_ones(
    index: Index, provider: CountingProvider
) -> None:
    for n in range(3):
        index.note(f"memory/{n}.md", prose(100, start=n * 100))
    index.sync(provider)
    assert index.vectors is not None
    query = provider.embed_query("something about a zeppelin")
    near(index, provider, query)
    before = index.vectors._signs
    assert before is not None
    index.note("memory/new.md", "Something about a zeppelin.")
    index.sync(provider)
    assert near(index, provider, query)[0].cosine == pytest.approx(1, abs=1e-3)
    after = index.vectors._signs
    assert after is not None
    assert after.signs.ids[: len(before.signs.ids)].tolist() == before.signs.ids.tolist()
    (index.workspace / "memory" / "new.md").unlink()
    index.sync(provider)
    assert near(index, provider, query)[0].cosine < 0.99


@pytest.mark.parametrize("screen_from", [10**6, 1, 120])
def test_what_is_held_in_memory_follows_the_notes(index: Index, provider: CountingProvider, screen_from: int) -> None:
    index.vectors = VectorIndex(Vector(enabled=False), exact_limit=10**6, screen_from=screen_from)
    for n in range(6):
        index.note(f"memory/{n % 3}.md", prose(50, start=n * 37) + f"\n\nSomething about zeppelin {n}.\n")
        index.note("memory/now.md", f"Something about balloon {n}.\n")
        index.sync(provider)
        for text in (f"Something about balloon {n}.", f"Something about zeppelin {n}.", "What was noted on day 40?"):
            query = provider.embed_query(text)
            found, exact = near(index, provider, query, limit=6), near(index, provider, query, limit=6, exact=True)
            assert [one.hash for one in found[:3]] == [one.hash for one in exact[:3]]
            assert np.allclose([one.cosine for one in found[:3]], [one.cosine for one in exact[:3]], atol=1e-6)
    (index.workspace / "memory" / "now.md").unlink()
    index.sync(provider)
    assert near(index, provider, provider.embed_query("Something about balloon 5."))[0].cosine < 0.99


def test_another_index_file_is_read_anew(index: Index, provider: CountingProvider) -> None:
    """Its ids are those of other texts."""
    index.note("memory/a.md", prose(100))
    index.sync(provider)
    near(index, provider, provider.embed_query("harbour"))
    index.store.close()
    for file in index.state.glob("main.sqlite*"):
        file.unlink()
    index.note("memory/a.md", prose(100, start=500))
    index.sync(provider)
    query = provider.embed_query("What was noted on day 530?")
    assert near(index, provider, query) == near(index, provider, query, exact=True)


def near(
    index: Index, provider: CountingProvider, query: NDArray[np.float32], *, limit: int = 50, exact: bool = False
) -> list[Any]:
    vectors = VectorIndex(Vector(enabled=False)) if exact else index.vectors
    assert vectors is not None
    with index.store.read() as connection:
        space_id = find_space(connection, provider.space)
        assert space_id is not None
        return list(vectors.find_nearest(connection, space_id, query, limit))


def bits(index: Index) -> set[bytes] | None:
    """The texts whose bits are held; None without the table. Rows without an embedding count as b""."""
    with closing(apsw.Connection(str(index.config.store_path))) as db:
        assert load_vec0(db, None) is None
        if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'chunks_vec'").get:
            return None
        rows = db.execute("SELECT v.rowid, e.hash FROM chunks_vec v LEFT JOIN embedding_cache e ON e.id = v.rowid")
        return {hash_ or b"" for _, hash_ in rows}


def embeddings(index: Index, provider: CountingProvider) -> set[bytes]:
    """All texts that have an embedding in the provider's space."""
    with index.store.read() as connection:
        space_id = find_space(connection, provider.space)
        return {
            row[0] for row in connection.execute("SELECT hash FROM embedding_cache WHERE space_id = ?", (space_id,))
        }


SYNCING = """
import sys
from pathlib import Path
from memory_core.config.settings import Vector
from memory_core.stores.sqlite.vectors import VectorIndex
from tests.fakes.providers import CountingProvider
from tests.index import Index
from tests.integration.test_sync import prose
index = Index(Path(sys.argv[1]), Path(sys.argv[2]), vectors=VectorIndex(Vector(), exact_limit=20))
print("ready", flush=True)
for number in range(1000):
    index.note("MEMORY.md", prose(120, start=number * 40))
    index.sync(CountingProvider(dimensions=64), force=number % 5 == 4)
    print(number, flush=True)
"""


def test_killed_at_any_point_it_is_whole_and_the_next_sync_levels_it(index: Index, provider: CountingProvider) -> None:
    for kill_after in (1, 3, 4, 5):
        process = subprocess.Popen(
            [sys.executable, "-c", SYNCING, str(index.workspace), str(index.state)],
            cwd=REPOSITORY, stdout=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        assert process.stdout is not None
        for _ in range(kill_after + 1):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        with closing(apsw.Connection(str(index.config.store_path))) as db:
            assert db.pragma("integrity_check") == "ok"
        assert near(index, provider, provider.embed_query("harbour"))
        report = index.sync(provider)
        assert report.pending == 0
        assert bits(index) == embeddings(index, provider)
