"""Searches of a few agents amid the tenants of others, of the server and of builtin in turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from memory_core.backends.builtin import BuiltinBackend
from memory_core.backends.postgres import PostgresBackend
from memory_core.config.settings import SearchSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from tests.benchmarks.daily_notes import questions, write_daily_notes
from tests.benchmarks.postgres.meter import Meter, Row
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, RealServer

ORIGINS = 24  # agents with notes of their own, of which the other tenants are copies
ASKING = 8  # of them are asked
NOTES = 50
CHARS = 3400  # of a note: some three chunks, so that a million make 6,000 tenants
ROUNDS = 25  # questions to each agent
WARM = 2  # more, before

Pair = tuple[PostgresBackend, BuiltinBackend]


def make_agents(
    folder: Path,
    database: Database,
    vectors: Literal["float32", "halfvec"] = "float32",
    search: SearchSettings | None = None,
) -> list[Pair]:
    """Write the notes of each agent and index them in both backends."""
    made = []
    for number in range(ORIGINS):
        name = f"agent{number}"
        write_daily_notes(folder / name / "notes", NOTES, seed=number + 1, chars=CHARS)
        dsn = database.add_role(name, writes=(name,))
        server = open_agent(folder, name, dsn, database.schema, vectors=vectors, search=search)
        builtin = BuiltinBackend(BackendContext(config=server._config))
        for backend in (server, builtin):
            backend.memory_sync(False, None)
        made.append((server, builtin))
    return made


def measure_searches(agents: Sequence[Pair], server: RealServer, database: Database, turn: int) -> list[Row]:
    """Ask both backends of every agent the same questions, which are others in each turn."""
    step = ROUNDS + WARM
    asked = [Query(text=each, min_score=0.0) for each in questions(step * (turn + 1))[-step:]]
    meters = Meter(server), Meter(server)
    for number, query in enumerate(asked):
        for pair in agents[:ASKING]:
            for backend, meter in zip(pair, meters, strict=True):
                if number < WARM:
                    backend.memory_search(query)
                else:
                    meter.add(lambda backend=backend, query=query: backend.memory_search(query))  # type: ignore[misc]
    chunks, tenants, _ = measure_size(database)
    size: Row = {"chunks": chunks, "tenants": tenants}
    return [
        {**size, "backend": backend, **meter.summarise()}
        for backend, meter in zip(("postgres", "builtin"), meters, strict=True)
    ]


def measure_size(database: Database) -> tuple[int, int, int]:
    """Return the number of chunks and of tenants, and the bytes of all tables and indexes."""
    operator = database.operator()
    try:
        summary = operator.summarise()
    finally:
        operator.close()
    return sum(tenant.chunks for tenant in summary.tenants), len(summary.tenants), summary.size_bytes
