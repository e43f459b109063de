"""Vectors of the static model are stored as int8; those that an older version has stored wider answer alike, and are packed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_core.backends.postgres import PostgresBackend
from memory_core.config.settings import SearchSettings, SyncSettings
from memory_core.records import Query
from memory_core.stores.postgres import held_vectors, state
from tests.benchmarks.daily_notes import questions, write_daily_notes
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, make_database

Places = list[list[tuple[str, int, float]]]


class Agent:
    """An agent with some notes, and the operator's view of its rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database: Database = make_database()
        self.dsn = self.database.add_role("ada", writes=("ada",))
        write_daily_notes(folder / "ada/notes", 20, chars=1500)
        self.backend = self.open()
        self.backend.memory_sync(False, None)

    def open(self, search: SearchSettings | None = None) -> PostgresBackend:
        return open_agent(self.folder, "ada", self.dsn, self.database.schema, search=search)

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self.database.admin_dsn, autocommit=True) as admin:
            admin.execute(f'SET search_path = "{self.database.schema}", public'.encode())
            cursor = admin.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def count(self, condition: str) -> int:
        ((count,),) = self.run(f"SELECT count(*) FROM embeddings WHERE {condition}")
        assert isinstance(count, int)
        return count

    def unpack(self, column: str, kind: str) -> None:
        """Store the vectors as an older version did."""
        rows = self.run("SELECT hash, q, NULL FROM embeddings WHERE q IS NOT NULL")
        for key, row in zip((row[0] for row in rows), held_vectors.widen([row[1:] for row in rows]), strict=True):
            self.run(
                f"UPDATE embeddings SET {column} = %s::real[]::{kind}, q = NULL WHERE hash = %s", row.tolist(), key
            )
        self.run("UPDATE tenants SET meta = meta - %s, generation = generation + 1", state.PACKED)

    def answer(self, backend: PostgresBackend) -> Places:
        found = [backend.memory_search(Query(text=each, min_score=0.0)) for each in questions(10)]
        return [[(hit.path, hit.start_line, round(hit.score, 4)) for hit in each.hits] for each in found]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    made = Agent(tmp_path)
    yield made
    made.backend.memory_close()


@pytest.mark.parametrize(("column", "kind"), [("v", "vector"), ("h", "halfvec")])
def test_vectors_of_an_older_version_answer_alike_and_are_packed_by_a_sync(
    agent: Agent, column: str, kind: str
) -> None:
    assert agent.count("q IS NULL") == 0
    packed = agent.answer(agent.backend)
    agent.unpack(column, kind)
    assert agent.count("q IS NOT NULL") == 0
    reading = agent.open(SearchSettings(sync=SyncSettings(on_search=False)))
    assert agent.answer(reading) == packed
    reading.memory_close()
    assert agent.count("q IS NOT NULL") == 0
    other = agent.open()
    (agent.folder / "ada/notes/MEMORY.md").write_text("The zebra counts its stripes.\n")
    assert other.memory_sync(False, None).added == 1
    assert agent.count("q IS NULL") == 0
    (agent.folder / "ada/notes/MEMORY.md").unlink()
    other.memory_sync(False, None)
    assert agent.answer(other) == packed
    other.memory_close()


def test_a_search_fetches_only_vectors_that_are_new(agent: Agent) -> None:
    """Those that were fetched before are not read again: what the server holds for them has no effect."""
    before = agent.answer(agent.backend)
    agent.run("UPDATE embeddings SET q = %s", b"\0" * 260)
    (agent.folder / "ada/notes/MEMORY.md").write_text("The zebra counts its stripes.\n")
    agent.backend.memory_sync(False, None)
    hits = agent.backend.memory_search(Query(text="Which zebra has stripes?")).hits
    assert hits[0].path == "MEMORY.md"
    (agent.folder / "ada/notes/MEMORY.md").unlink()
    agent.backend.memory_sync(False, None)
    assert agent.answer(agent.backend) == before


def test_what_another_process_wrote_is_found(agent: Agent) -> None:
    agent.answer(agent.backend)
    (agent.folder / "ada/notes/MEMORY.md").write_text("The zebra counts its stripes.\n")
    other = agent.open()
    other.memory_sync(False, None)
    other.memory_close()
    assert agent.backend.memory_search(Query(text="Which zebra has stripes?")).hits[0].path == "MEMORY.md"


@pytest.mark.parametrize("packed", [b"", b"\1" * 7, b"\1" * 256 + b"\xff\xff\xff\xff"])
def test_rows_that_are_no_vectors_are_left_out(agent: Agent, packed: bytes) -> None:
    agent.run("UPDATE embeddings SET q = %s", packed)
    agent.run("UPDATE tenants SET meta = meta || '{\"center\": [1]}', generation = generation + 1")
    other = agent.open()
    assert any(other.memory_search(Query(text=each, min_score=0.0)).hits for each in questions(6))
    other.memory_close()
