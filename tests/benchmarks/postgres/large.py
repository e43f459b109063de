"""One tenant of many distinct chunks: its searches, and what its signs find beside an exact comparison."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from memory_core.backends.postgres import PostgresBackend
from memory_core.config.settings import SearchSettings, SyncSettings
from memory_core.records import Query
from memory_core.stores.postgres import vectors
from memory_core.stores.postgres.tenants import Tenant
from tests.benchmarks.daily_notes import questions
from tests.benchmarks.postgres.load import load_large_tenant
from tests.benchmarks.postgres.meter import Meter, Row
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, RealServer

QUESTIONS = 60
WARM = 4  # of them
COMPARED = 20  # of them with an exact comparison


def measure_large(folder: Path, database: Database, chunks: int, server: RealServer) -> Row:
    """Fill a tenant with chunks, and search it."""
    search = SearchSettings(sync=SyncSettings(on_search=False))  # the loaded notes have no files
    backend = open_agent(folder, "large", database.add_role("large", writes=("large",)), database.schema, search=search)
    try:
        (folder / "large/notes/MEMORY.md").write_text("The first note makes the space.\n")
        backend.memory_sync(False, None)
        with backend._server.read() as reader:
            space = reader.load_state().serving
        assert space is not None
        load_large_tenant(database, "large", chunks, backend._providers.open_configured(), space)
        began = time.perf_counter()
        with backend._server.lock():
            with backend._server.write() as writer:
                writer.save_state(complete=space)
            for _ in backend._server.tidy(whole=True):
                pass
        signed = time.perf_counter() - began
        with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
            admin.execute("VACUUM ANALYZE")  # as autovacuum does soon
            admin.execute("CHECKPOINT")
        meter, asked = Meter(server), questions(QUESTIONS)
        for each in asked[:WARM]:
            _search(backend, each)
        for each in asked[WARM:]:
            meter.add(lambda each=each: _search(backend, each))  # type: ignore[misc]
        return {
            "chunks": chunks, **meter.summarise(), "signed_seconds": round(signed, 1),
            **_compare(backend, asked[:COMPARED]),
        }  # fmt: skip
    finally:
        backend.memory_close()


def _search(backend: PostgresBackend, text: str) -> None:
    found = backend.memory_search(Query(text=text, min_score=0.0))
    assert found.hits


def _compare(backend: PostgresBackend, asked: Sequence[str]) -> Row:
    """Return the share of the ten nearest passages that signs find, and how long an exact comparison takes."""
    provider = backend._providers.open_configured()
    assert provider is not None
    held = total = 0
    exact_seconds: list[float] = []
    with backend._server.read() as reader:
        cursor, own = reader.db, reader.own
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.connection.limit_seconds = None  # type: ignore[attr-defined]
        space = own.serving
        assert space is not None
        for text in asked:
            vector = provider.embed_query(text, timeout_seconds=10)
            near, began = _find_best(cursor, own, space, vector), time.perf_counter()
            exact = _find_best(cursor, replace(own, signed=()), space, vector)
            exact_seconds.append(time.perf_counter() - began)
            held, total = held + len(near & exact), total + len(exact)
    return {"recall_at_10": round(held / total, 3), "exact_ms": round(statistics.median(exact_seconds) * 1000)}


def _find_best(cursor: Any, tenant: Tenant, space: int, vector: Any) -> set[int]:
    found = vectors.find_nearest(cursor, [tenant], space, vector, days=(None, None), depth=50)
    return {*sorted(found, key=found.__getitem__)[-10:]}
