"""A tenant that is large enough to keep signs of its vectors answers as one that compares all of them; and plans hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest

from memory_core.backends.postgres import PostgresBackend
from memory_core.records import Query
from memory_core.stores.postgres import reader as reading
from memory_core.stores.postgres import vectors
from memory_core.stores.postgres.tenants import Tenant
from tests.benchmarks.daily_notes import questions, write_daily_notes
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, make_database

NOTES = 40
# Rows of the tenant itself and of others in its partition, without which a scan of all is as good as an index.
MORE = (
    "INSERT INTO embeddings (tenant_id, space_id, hash, h, signs) SELECT e.tenant_id, e.space_id, sha256(n::text::bytea),"
    " e.h, e.signs FROM (SELECT * FROM embeddings LIMIT 1) e, generate_series(1, 20000) n",
    "INSERT INTO windows SELECT w.tenant_id, w.chunk_id, n, n, sha256(n::text::bytea) FROM (SELECT * FROM windows"
    " LIMIT 1) w, generate_series(100, 20000) n",
    "INSERT INTO chunks (tenant_id, note_id, start_line, end_line, hash, words, context, text, units, links, tsv)"
    " SELECT tenant_id, note_id, start_line, end_line, hash, words, context, text, units, links, tsv"
    " FROM chunks, generate_series(1, 20)",
)


class Grown:
    """An agent with a few hundred windows, which is large here."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.database = database
        self.dsn = database.add_role("big", writes=("big",))
        self.folder = folder
        write_daily_notes(folder / "big/notes", NOTES, chars=2000)
        self.backend: PostgresBackend = open_agent(folder, "big", self.dsn, database.schema)

    def count(self, condition: str) -> int:
        with psycopg.connect(self.database.admin_dsn) as admin:
            row = admin.execute(
                f'SELECT count(*) FROM "{self.database.schema}".embeddings WHERE {condition}'.encode()
            ).fetchone()
        assert row is not None
        return int(row[0])

    def forget_signs(self) -> None:
        """Let the tenant be searched as a small one is."""
        with psycopg.connect(self.database.admin_dsn) as admin:
            admin.execute(f'UPDATE "{self.database.schema}".spaces SET center = NULL'.encode())

    def answer(self) -> list[list[tuple[str, int, float]]]:
        found = [self.backend.memory_search(Query(text=each, min_score=0.0)) for each in questions(12)]
        return [[(hit.path, hit.start_line, round(hit.score, 5)) for hit in each.hits] for each in found]


@pytest.fixture
def grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Grown]:
    monkeypatch.setattr(vectors, "LARGE_WINDOWS", 50)
    monkeypatch.setattr(vectors, "SIGN_STEP", 30)
    made = Grown(tmp_path, make_database())
    made.backend.memory_sync(False, None)
    yield made
    made.backend.memory_close()


def test_a_large_tenant_answers_as_a_small_one_does(grown: Grown) -> None:
    assert grown.count("signs IS NOT NULL") > 50
    assert grown.count("signs IS NULL") == 0
    by_signs = grown.answer()
    assert grown.backend.memory_status().vector == "signs"
    grown.forget_signs()
    assert by_signs == grown.answer()
    assert grown.backend.memory_status().vector == "exact"


def test_what_a_large_tenant_adds_has_signs_at_once(grown: Grown) -> None:
    before = grown.count("true")
    (grown.folder / "big/notes/MEMORY.md").write_text("The zebra counts its stripes.\n")
    assert grown.backend.memory_sync(False, None).added == 1
    assert grown.count("true") > before
    assert grown.count("signs IS NULL") == 0
    hits = grown.backend.memory_search(Query(text="Which zebra has stripes?")).hits
    assert hits[0].path == "MEMORY.md"


def test_few_compared_windows_find_nearly_the_same(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the quarter of the windows that is nearest by its signs."""
    monkeypatch.setattr(vectors, "NEAREST", max(10, grown.count("true") // 4))
    with grown.backend._server.read() as reader:
        space = reader.own.serving
        assert space is not None
        rng, held = np.random.default_rng(1), 0
        for (row,) in reader.db.execute("SELECT h::vector::real[] FROM embeddings ORDER BY hash LIMIT 20").fetchall():
            vector = np.array(row, dtype=np.float32) + rng.normal(0, 0.03, len(row)).astype(np.float32)
            vector /= np.linalg.norm(vector)
            near, exact = (
                vectors.find_nearest(reader.db, several, space, vector, days=(None, None), depth=10)
                for several in ([reader.own], [_as_small(reader.own)])
            )
            held += len({*sorted(near, key=near.__getitem__)[-10:]} & {*sorted(exact, key=exact.__getitem__)[-10:]})
    assert held >= 0.8 * 200


def test_a_period_of_a_large_tenant_is_searched_whole(grown: Grown) -> None:
    with grown.backend._server.read() as reader:
        assert reader.own.serving is not None
        ((row,),) = reader.db.execute("SELECT h::vector::real[] FROM embeddings LIMIT 1").fetchall()
        found = vectors.find_nearest(
            reader.db, [reader.own], reader.own.serving, np.array(row), days=("1971-01-03", "1971-01-03"), depth=50
        )
        held = reader.db.execute(
            "SELECT c.id FROM chunks c JOIN notes n ON n.id = c.note_id WHERE n.path LIKE '%%1971-01-03%%'"
        ).fetchall()
    assert {*found} == {number for (number,) in held} != set()


def test_the_plans_use_the_indexes(grown: Grown) -> None:
    """A rare word is looked up in the keyword index, signs in theirs, and only the tenant's own partitions are read."""
    with psycopg.connect(grown.database.admin_dsn, autocommit=True) as admin:
        admin.execute(f'SET search_path = "{grown.database.schema}"'.encode())
        for statement in MORE:
            admin.execute(statement.encode())
        admin.execute("VACUUM ANALYZE")
        rare = "EXPLAIN SELECT c.id FROM chunks c WHERE c.tenant_id = ANY ('{1}') AND c.tsv @@ 'zebra'::tsquery"
        keyword = "\n".join(line for (line,) in admin.execute(rare.encode()).fetchall())
    with grown.backend._server.read() as reader:
        values: dict[str, object] = {
            "vector": vectors.write_vector(np.ones(256)), "space": reader.own.serving, "dimensions": 256, "depth": 50,
            "nearest": 10, "tenant": reader.own.id, "tenants": [reader.own.id],
        }  # fmt: skip
        near, exact = (
            "\n".join(line for (line,) in reader.db.execute(b"EXPLAIN (ANALYZE) " + query, values).fetchall())
            for query in (vectors.write_near(dated=False), vectors.write_exact(dated=False))
        )
        compared = "\n".join(line for (line,) in reader.db.execute(
            f"EXPLAIN {reading._ASKED} SELECT v FROM asked a CROSS JOIN LATERAL (SELECT v FROM {reading._OF_ASKED}) e".encode(),
            {"space": reader.own.serving, "tenants": [reader.own.id], "ids": [1, 2, 3]},
        ).fetchall())  # fmt: skip
    assert re.search(r"Index Scan using embeddings_\d+_pkey", compared)
    assert re.search(r"Scan (?:using|on) windows_\d+_pkey", compared)
    assert re.search(r"Index Cond: .*chunk_id = c\.id", compared)
    assert re.search(r"Bitmap Index Scan on chunks_\d+_tenant_id_tsv_idx", keyword)
    assert re.search(r"Index Only Scan using embeddings_\d+_tenant_id_space_id_hash_signs_idx", near)
    assert re.search(r"Scan using windows_\d+_tenant_id_hash_idx", near)
    assert re.search(r"Index Scan using windows_\d+_tenant_id_hash_idx", exact)
    assert not re.search("Seq Scan on (?!spaces)", keyword + near)  # a few rows
    for plan in (keyword, near, exact):
        read = "\n".join(line for line in plan.splitlines() if "never executed" not in line)
        assert len({*re.findall(r"(?:on|using) (?:chunks|windows|embeddings)_(\d+)", read)}) == 1


def _as_small(tenant: Tenant) -> Tenant:
    return replace(tenant, signed=())


def test_the_windows_of_a_new_tenant_are_not_compared_one_by_one(tmp_path: Path) -> None:
    """The planner takes it for empty until autovacuum has come, and has compared every window with every embedding."""
    database = make_database()
    backend = open_agent(
        tmp_path, "new", database.add_role("new", writes=("new",)), database.schema, statement_timeout_ms=5000
    )
    try:
        (tmp_path / "new/notes/MEMORY.md").write_text("The gate is green.\n")
        backend.memory_sync(False, None)
        with psycopg.connect(database.admin_dsn) as admin:
            admin.execute(f'SET search_path = "{database.schema}"'.encode())
            for statement in MORE[:2]:
                admin.execute(statement.encode())
        with backend._server.read() as reader:
            space = reader.own.serving
            assert space is not None
            found, place = reader.find_pending(None, (0, -1), 300)
            assert len(found) == 300
            assert place is not None
            assert place[1] == 398
            assert (reader.find_pending(space, (0, -1), 300), reader.count_pending(space)) == (([], None), 0)
            assert len(reader.sample_embeddings(space, 300)) == 300
        status = backend.memory_status()
        assert (status.embeddings, status.pending) == (19_902, 0)
    finally:
        backend.memory_close()
