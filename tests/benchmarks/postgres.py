"""The backend postgres beside builtin: searches, writes, sizes and outages, with processor time beside the wall's.

`python -m tests.benchmarks.postgres --chunks 100000` searches for eight agents with 50 notes each, of both backends in turn, amid
chunks of other tenants, which are copies of theirs that the operator loads, until there are that many. `--large 100000` also
makes one tenant of that many distinct chunks.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import psutil
import psycopg

from memory_core.backends.selector import Selector
from memory_core.builtin.backend import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import MemorySettings, SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.postgres.backend import PostgresBackend
from memory_core.postgres.store import state, vectors
from memory_core.postgres.store.writer import PostgresWriter
from memory_core.records import Query
from tests.benchmarks.daily_notes import questions, write_daily_notes
from tests.benchmarks.postgres_load import load_large_tenant, multiply_tenants
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, RealServer, make_database

AGENTS = 8
NOTES = 50
CHARS = 2200  # of a note: some three chunks
ROUNDS = 12  # questions to each agent
WRITERS = 8
WRITTEN = 60  # notes of each writer


class Timings:
    """Seconds of calls, of the wall, of this process and of the server."""

    def __init__(self, server: RealServer) -> None:
        self._server = psutil.Process(server.pid)
        self.wall: list[float] = []
        self.own = self.served = 0.0

    def add(self, call: Callable[[], object]) -> None:
        served, own, began = self._count(), time.process_time(), time.perf_counter()
        call()
        self.wall.append(time.perf_counter() - began)
        self.own += time.process_time() - own
        self.served += self._count() - served

    def show(self, name: str) -> None:
        cuts = statistics.quantiles(self.wall, n=20)
        count = len(self.wall) / 1000
        print(
            f"| {name} | {statistics.median(self.wall) * 1000:.1f} | {cuts[18] * 1000:.1f} | {self.own / count:.1f}"
            f" | {self.served / count:.1f} |",
            flush=True,
        )

    def _count(self) -> float:
        """Return the processor time of the server's processes, ended ones included where it has waited for them."""
        total = 0.0
        for process in self._server.children():
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        return total


def read_name(number: int) -> str:
    """Return the name of an agent."""
    return f"agent{number}"


def make_agents(folder: Path, database: Database) -> list[tuple[PostgresBackend, BuiltinBackend]]:
    """Write and index the notes of each agent in both backends."""
    made = []
    for number in range(AGENTS):
        name = read_name(number)
        write_daily_notes(folder / name / "notes", NOTES, seed=number + 1, chars=CHARS)
        server = open_agent(folder, name, database.add_role(name, writes=(name,)), database.schema)
        builtin = BuiltinBackend(BackendContext(config=server._config))
        for backend in (server, builtin):
            backend.memory_sync(False, None)
        made.append((server, builtin))
    return made


def bench_searches(agents: Sequence[tuple[PostgresBackend, BuiltinBackend]], server: RealServer, title: str) -> None:
    """Ask every agent's backends in turn, the same questions."""
    asked = [Query(text=each, min_score=0.0) for each in questions(ROUNDS + 2)]
    timings = Timings(server), Timings(server)
    for number, query in enumerate(asked):
        for pair in agents:
            for backend, timing in zip(pair, timings, strict=True):
                if number < 2:
                    backend.memory_search(query)
                else:
                    timing.add(lambda backend=backend, query=query: backend.memory_search(query))  # type: ignore[misc]
    timings[0].show(f"{title}, postgres")
    timings[1].show(f"{title}, builtin")


def write_notes(folder: Path, name: str, dsn: str, schema: str, ready: Barrier) -> None:
    """Sync a workspace that is new, once all writers are ready."""
    backend = open_agent(folder, name, dsn, schema)
    (folder / name / "notes/MEMORY.md").write_text("The first note loads the model.\n")
    backend.memory_sync(False, None)
    write_daily_notes(folder / name / "notes", WRITTEN, seed=hash(name) % 1000, chars=CHARS)
    ready.wait()
    backend.memory_sync(False, None)
    ready.wait()
    backend.memory_close()


def bench_writers(folder: Path, database: Database) -> None:
    """Let writers with a tenant each sync new notes at the same time."""
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Barrier(WRITERS + 1)
    names = [f"writer{number}" for number in range(WRITERS)]
    dsns = [database.add_role(name, writes=(name,)) for name in names]
    processes = [
        spawning.Process(target=write_notes, args=(folder, name, dsn, database.schema, ready))
        for name, dsn in zip(names, dsns, strict=True)
    ]
    for process in processes:
        process.start()
    ready.wait()
    began = time.perf_counter()
    busy = _count_all()
    ready.wait()
    seconds, used = time.perf_counter() - began, _count_all() - busy
    for process in processes:
        process.join()
    notes = WRITERS * WRITTEN
    print(f"{WRITERS} writers: {notes / seconds:.0f} notes a second ({used:.1f} s of processors in {seconds:.1f} s)")


def _count_all() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system)


def bench_size(database: Database) -> None:
    """Tell how many bytes a chunk takes, all tables and indexes included."""
    operator = database.operator()
    summary = operator.summarise()
    operator.close()
    chunks = sum(tenant.chunks for tenant in summary.tenants)
    print(
        f"{chunks:,} chunks of {len(summary.tenants):,} tenants: {summary.size_bytes / 1e6:,.0f} MB,"
        f" {summary.size_bytes / chunks / 1000:.2f} KB a chunk",
        flush=True,
    )


def bench_large(folder: Path, database: Database, chunks: int, server: RealServer) -> None:
    """Search a tenant of many distinct chunks; compare what its signs find with an exact comparison."""
    search = SearchSettings(sync=SyncSettings(on_search=False))  # the loaded notes have no files
    dsn = database.add_role("large", writes=("large",))
    backend = open_agent(folder, "large", dsn, database.schema, search=search)
    (folder / "large/notes/MEMORY.md").write_text("The first note makes the space.\n")
    backend.memory_sync(False, None)
    provider, writer, began = backend._providers.open_configured(), backend._writer, time.perf_counter()
    assert isinstance(writer, PostgresWriter)
    space = writer.load_state().serving
    assert space is not None
    load_large_tenant(database, "large", chunks, provider, space)
    print(f"loaded {chunks:,} chunks in {time.perf_counter() - began:.0f} s", flush=True)
    began = time.perf_counter()
    with writer.lock():
        writer.serve(space, complete=True)
    print(f"gave signs to its vectors in {time.perf_counter() - began:.0f} s", flush=True)
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute("VACUUM ANALYZE")  # as autovacuum does soon
    asked = questions(40)
    timing = Timings(server)
    for number, each in enumerate(asked):
        if number < 4:
            _search(backend, each)
        else:
            timing.add(lambda each=each: _search(backend, each))  # type: ignore[misc]
    timing.show(f"one tenant of {chunks:,} chunks")
    _bench_recall(backend, asked)
    backend.memory_close()


def _search(backend: PostgresBackend, text: str) -> None:
    found = backend.memory_search(Query(text=text, min_score=0.0))
    assert found.hits


def _bench_recall(backend: PostgresBackend, asked: Sequence[str]) -> None:
    provider = backend._providers.open_configured()
    assert provider is not None
    held = total = 0
    exact_seconds: list[float] = []
    with backend._server.read() as (cursor, tenants):
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.connection.limit_seconds = None  # type: ignore[attr-defined]
        space = tenants[0].serving
        assert space is not None
        small = [replace(tenants[0], meta={})]
        for text in asked:
            vector = provider.embed_query(text, timeout_seconds=10)
            near, began = _find_best(cursor, tenants, space, vector), time.perf_counter()
            exact = _find_best(cursor, small, space, vector)
            exact_seconds.append(time.perf_counter() - began)
            held, total = held + len(near & exact), total + len(exact)
    print(f"recall@10 {held / total:.4f}; comparing all takes {statistics.median(exact_seconds) * 1000:.0f} ms")


def _find_best(cursor: Any, tenants: Sequence[state.Tenant], space: int, vector: Any) -> set[int]:
    found = vectors.find_nearest(cursor, tenants, space, vector, days=(None, None), depth=50)
    return {*sorted(found, key=found.__getitem__)[-10:]}


def bench_outages(folder: Path, database: Database, server: RealServer) -> None:
    """Time searches while the server is down, and while it hangs."""
    workspace = folder / read_name(0) / "notes"
    dsn = database.server.dsn(database.name, f"{database.name}_{read_name(0)}")
    config = AgentConfig(
        agent=read_name(0), workspace=workspace, state_dir=folder / "out", store_path=folder / "out/index.sqlite",
        memory=MemorySettings(backend="postgres"),
        backend_sections={"postgres": {"dsn": dsn, "schema": database.schema}},
    )  # fmt: skip
    for title in ("stopped", "hung (SIGSTOP)"):
        selector = Selector(config)
        selector.sync()
        assert _ask(selector)[1] == "postgres"
        if title == "stopped":
            server.kill()
            times = [_ask(selector) for _ in range(30)]
            server.start()
        else:
            with server.suspended():
                times = [_ask(selector, pause_seconds=0.3) for _ in range(30)]
        assert {backend for _, backend in times} == {"builtin"}
        later = sorted(seconds for seconds, _ in times[1:])
        began = time.perf_counter()
        while _ask(selector)[1] != "postgres":
            time.sleep(0.1)
        back = time.perf_counter() - began
        selector.close()
        print(
            f"{title}: first call {times[0][0] * 1000:.0f} ms, then median {statistics.median(later) * 1000:.0f} ms,"
            f" slowest {later[-1] * 1000:.0f} ms; served again after {back:.1f} s",
            flush=True,
        )


def _ask(selector: Selector, *, pause_seconds: float = 0.0) -> tuple[float, str]:
    time.sleep(pause_seconds)
    began = time.perf_counter()
    found = selector.search(Query(text="Where is the harbour?"))
    return time.perf_counter() - began, found.backend


def main() -> int:
    """Run all parts."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.postgres")
    parser.add_argument("--chunks", type=int, action="append", help="of all tenants; may be given more than once")
    parser.add_argument("--large", type=int, default=0, help="chunks of one large tenant; 0 leaves it out")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # outages are made on purpose
    server = RealServer()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder, database = Path(scratch), make_database(server)
            agents = make_agents(folder, database)
            print("| searches | p50 ms | p95 ms | own CPU ms | server CPU ms |\n| --- | --- | --- | --- | --- |")
            for chunks in sorted(arguments.chunks or [10_000, 100_000]):
                multiply_tenants(database, AGENTS, chunks)
                bench_searches(agents, server, f"{chunks:,} chunks")
            bench_size(database)
            bench_writers(folder, database)
            if arguments.large:
                bench_large(folder, database, arguments.large, server)
            bench_outages(folder, database, server)
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
