"""Vectors compared by sqlite-vec and without it: the same hits, a reason in the status, and signs that follow the embeddings."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import apsw
import numpy as np
import pytest

import memory_core
from memory_core.config.settings import Cache, SearchSettings, Vector
from memory_core.embeddings.static import StaticProvider
from memory_core.errors import StoreCorrupt
from memory_core.stores.sqlite import vectors
from memory_core.stores.sqlite.connections import load_vec0
from memory_core.stores.sqlite.vectors import NearWindow, VectorIndex
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


def test_sqlite_vec_compares_all_vectors_of_a_small_index(with_vec0: tuple[list[Any], Any]) -> None:
    answers, status = with_vec0
    assert (status.vector, status.vector_reason) == ("exact", None)
    assert all(answer["mode"] == "hybrid" for answer in answers)


def test_status_says_by_what_vectors_are_searched(tmp_path: Path) -> None:
    """Nothing, a comparison of all, and signs, as an index grows over the size from which it has them."""
    settled = VectorIndex(Vector(), exact_limit=2)
    index = Index(tmp_path / "notes", tmp_path / "state", SearchSettings(provider="static"), settled)

    def look() -> tuple[str, str | None]:
        index.store.vectors = settled
        status = index.report_status()
        return status.vector, status.vector_reason

    index.note("a.md", "oak")  # is no note of memory: the index stays empty
    index.sync()
    assert look() == ("off", "there are no embeddings yet")
    index.note("memory/a.md", "The fence is of oak.")
    index.sync(StaticProvider())
    assert look() == ("exact", None)
    for number in range(3):
        index.note(f"memory/{number}.md", f"The gate number {number} is of iron.")
    index.sync(StaticProvider())
    assert look() == ("signs", None)
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


# Signs.


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An index that holds signs for more than 20 vectors of 64 dimensions."""
    made = Index(tmp_path / "notes", tmp_path / "state", vectors=VectorIndex(Vector(), exact_limit=20))
    yield made
    made.close()


@pytest.fixture
def provider() -> CountingProvider:
    return CountingProvider(dimensions=64)


def test_small_indexes_have_no_signs(index: Index, provider: CountingProvider) -> None:
    index.note("MEMORY.md", prose(10))
    index.sync(provider)
    assert signs(index, provider) == set()


@pytest.mark.parametrize("enabled", [True, False])
def test_signs_find_what_a_comparison_of_all_finds(index: Index, provider: CountingProvider, enabled: bool) -> None:
    for n in range(8):
        index.note(f"memory/{n}.md", prose(100, start=n * 100))
    index.sync(provider)
    assert len(signs(index, provider)) > 300
    index.vectors = VectorIndex(Vector(enabled=enabled), exact_limit=20)
    for number in range(20):
        query = provider.embed_query(prose(1, start=number * 37))
        approximate, exact = near(index, provider, query)[:10], compare_all(index, provider, query)[:10]
        assert [found.cosine for found in approximate] == pytest.approx([cosine for _, cosine in exact], abs=1e-6)
        assert approximate[0].hash in {key for key, cosine in exact if cosine > exact[0][1] - 1e-6}


def test_signs_follow_the_embeddings(index: Index, provider: CountingProvider) -> None:
    index.set(cache=Cache(max_entries=5))
    index.note("MEMORY.md", prose(120))
    for number, force in itertools.product(range(4), (False, True)):
        index.note("MEMORY.md", prose(120, start=number * 50 + force * 25))
        index.note(f"memory/{number}.md", prose(30, start=1000 + number * 7))
        if number:
            (index.workspace / f"memory/{number - 1}.md").unlink(missing_ok=True)
        index.sync(provider, force=force)
        assert signs(index, provider) == embeddings(index, provider)


def test_each_space_has_signs_of_its_own(index: Index) -> None:
    index.note("MEMORY.md", prose(120))
    old, new = CountingProvider("old", dimensions=64), CountingProvider("new", dimensions=128)
    index.sync(old)
    assert signs(index, old) == embeddings(index, old)
    new.requests_left = 1
    index.sync(new)
    new.out, new.requests_left = False, None
    index.sync(new)
    index.sync(None)
    index.sync(old)
    for provider in (old, new):
        assert signs(index, provider) == embeddings(index, provider)


def test_old_texts_do_not_crowd_out_new_ones(index: Index, provider: CountingProvider) -> None:
    """The cache keeps embeddings that no note refers to; they are as near to the question as those that notes hold."""
    for number in range(12):
        index.note("MEMORY.md", "".join(f"The harbour dentist paints a fence {number} {n}.\n\n" for n in range(60)))
        index.sync(provider)
    query = provider.embed_query("harbour dentist paints fence")
    found = near(index, provider, query, limit=30)
    with index.store.database.read() as connection:
        held = {row[0] for row in connection.execute("SELECT hash FROM windows")}
    assert len(found) >= min(30, len(held))
    assert all(one.hash in held for one in found)


def test_signs_are_written_without_sqlite_vec(index: Index, provider: CountingProvider) -> None:
    index.note("MEMORY.md", prose(120))
    index.sync(provider)
    with_it = index.vectors
    index.vectors = VectorIndex(Vector(enabled=False), exact_limit=20)
    index.note("memory/new.md", "Something about a zeppelin.")
    index.sync(provider)
    query = provider.embed_query("something about a zeppelin")
    for own in (index.vectors, with_it):
        index.vectors = own
        assert near(index, provider, query)[0].cosine == pytest.approx(1, abs=1e-3)
    assert signs(index, provider) == embeddings(index, provider)
    (index.workspace / "memory" / "new.md").unlink()
    index.sync(provider)
    assert near(index, provider, query)[0].cosine < 0.99


@pytest.mark.parametrize("dimensions", [64, 100, 384])
def test_few_that_signs_pick_hold_most_of_the_nearest(
    index: Index, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "PICKED", 500)
    provider = CountingProvider(dimensions=dimensions)
    for n in range(9):
        index.note(f"memory/{n}.md", prose(300, start=n * 300))
    index.sync(provider)
    assert len(embeddings(index, provider)) > 1000  # so that there is something to leave out
    for text in ("Something about a zeppelin.", "What was noted on day 250?", prose(1, start=333)):
        query = provider.embed_query(text)
        found, exact = near(index, provider, query, limit=10)[:10], compare_all(index, provider, query)[:10]
        assert found[0].cosine == pytest.approx(exact[0][1], abs=0.01)
        assert sum(one.cosine > exact[9][1] - 1e-6 for one in found) >= 7  # of texts that are equally near, any will do


def test_vectors_that_lie_in_one_cone_are_told_apart_by_their_signs(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Less their mean; else all would have the same signs."""
    monkeypatch.setattr(vectors, "PICKED", 300)
    dice = np.random.default_rng(5)
    rows = (1 + 0.1 * dice.standard_normal((3000, 64))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    hashes = [n.to_bytes(16, "big") for n in range(len(rows))]
    index.note("MEMORY.md", prose(3))
    index.sync(None)
    with index.store.write() as writer:
        space_id, connection = writer.add_space(CountingProvider(dimensions=64).space), writer.db
        connection.executemany(
            "INSERT INTO embedding_cache (space_id, hash, embedding) VALUES (?, ?, ?)",
            [(space_id, key, row.tobytes()) for key, row in zip(hashes, rows, strict=True)],
        )
        connection.executemany(
            "INSERT INTO windows (chunk_id, first, last, hash) SELECT min(id), ?, 0, ? FROM chunks",
            [(1000 + n, key) for n, key in enumerate(hashes)],
        )
        assert index.vectors is not None
        index.vectors.add_signs(connection, space_id)
    found = 0
    for number in range(0, 3000, 300):
        with index.store.database.read() as connection:
            nearest = index.vectors.find_nearest(connection, space_id, rows[number], 10)[:10]
        best = {hashes[n] for n in np.argsort(-(rows @ rows[number]))[:10]}
        assert nearest[0].hash == hashes[number]
        found += len(best & {one.hash for one in nearest})
    assert found >= 70  # of 100
    with index.store.database.read() as connection:
        bits = b"".join(
            row[0] for row in cast("list[tuple[bytes]]", connection.execute("SELECT bits FROM signs").fetchall())
        )
    assert np.unpackbits(np.frombuffer(bits, np.uint8)).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_vector_without_direction_is_never_near(index: Index, provider: CountingProvider, enabled: bool) -> None:
    index.vectors = VectorIndex(Vector(enabled=enabled))
    index.note("MEMORY.md", prose(20))
    index.sync(provider)
    with index.store.database.write() as connection:
        connection.execute("UPDATE embedding_cache SET embedding = zeroblob(length(embedding)) WHERE id = 1")
        (key,) = connection.execute("SELECT hash FROM embedding_cache WHERE id = 1").fetchall()[0]
    found = near(index, provider, provider.embed_query("harbour"), limit=500)
    assert found
    assert key not in {one.hash for one in found}
    assert near(index, provider, np.zeros(64, np.float32)) == []


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("limit", [0, 10**6])
def test_an_embedding_of_another_length_is_damage(
    index: Index, provider: CountingProvider, enabled: bool, limit: int
) -> None:
    index.note("MEMORY.md", prose(60))
    index.vectors = VectorIndex(Vector(enabled=enabled), exact_limit=limit)
    index.sync(provider)
    with index.store.database.write() as connection:
        connection.execute("UPDATE embedding_cache SET embedding = substr(embedding, 5)")
    with pytest.raises(StoreCorrupt):
        near(index, provider, provider.embed_query("harbour"), limit=5)


def test_another_index_file_is_read(index: Index, provider: CountingProvider) -> None:
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
    assert near(index, provider, query)[0].cosine == pytest.approx(compare_all(index, provider, query)[0][1], abs=1e-6)


def near(index: Index, provider: CountingProvider, query: NDArray[np.float32], *, limit: int = 50) -> list[NearWindow]:
    assert index.vectors is not None
    with index.store.read() as reader:
        space_id = reader.list_spaces()[provider.space]
        assert space_id is not None
        return index.vectors.find_nearest(reader.db, space_id, query, limit)


def compare_all(index: Index, provider: CountingProvider, query: NDArray[np.float32]) -> list[tuple[bytes, float]]:
    """All windows with their cosines, best first, by numpy alone."""
    with index.store.read() as reader:
        space_id, connection = reader.list_spaces()[provider.space], reader.db
        rows = connection.execute(
            "SELECT hash, embedding FROM embedding_cache e WHERE space_id = ?"
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)",
            (space_id,),
        ).fetchall()
    cosines = {
        key: float(np.frombuffer(blob, np.float32) @ query) for key, blob in cast("list[tuple[bytes, bytes]]", rows)
    }
    return sorted(cosines.items(), key=lambda one: -one[1])


def signs(index: Index, provider: CountingProvider) -> set[bytes]:
    """The texts whose signs the index holds in the provider's space; signs without an embedding count as b""."""
    with index.store.read() as reader:
        space_id, connection = reader.list_spaces()[provider.space], reader.db
        rows = connection.execute("SELECT id, hash FROM embedding_cache WHERE space_id = ?", (space_id,)).fetchall()
        blocks = connection.execute("SELECT ids FROM signs WHERE space_id = ?", (space_id,)).fetchall()
    texts = dict(cast("list[tuple[int, bytes]]", rows))
    ids = [
        number for (block,) in cast("list[tuple[bytes]]", blocks) for number in np.frombuffer(block, np.int64).tolist()
    ]
    assert len(ids) == len({*ids})
    return {texts.get(number, b"") for number in ids}


def embeddings(index: Index, provider: CountingProvider) -> set[bytes]:
    """All texts that have an embedding in the provider's space."""
    with index.store.read() as reader:
        space_id, connection = reader.list_spaces()[provider.space], reader.db
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


def test_killed_at_any_point_signs_and_embeddings_agree(index: Index, provider: CountingProvider) -> None:
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
        assert signs(index, provider) == embeddings(index, provider)
        assert near(index, provider, provider.embed_query("harbour"))
        report = index.sync(provider)
        assert report.pending == 0
        assert signs(index, provider) == embeddings(index, provider)
