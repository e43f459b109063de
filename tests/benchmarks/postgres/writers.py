"""Notes a second that several processes sync at the same time, each into a tenant or a file of its own."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

from memory_core.backends.builtin import BuiltinBackend
from memory_core.hookspecs import BackendContext
from tests.benchmarks.daily_notes import write_daily_notes
from tests.benchmarks.postgres.meter import Row, count_all_seconds
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database

WRITERS = 8
NOTES = 120  # of each
CHARS = 2200  # of a note: two chunks
LIMIT_SECONDS = 300  # that one waits for the others


def measure_writers(folder: Path, database: Database) -> list[Row]:
    """Let the writers sync to the server, then to index files of their own."""
    return [_measure(folder, database, backend) for backend in ("postgres", "builtin")]


def _measure(folder: Path, database: Database, backend: str) -> Row:
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Barrier(WRITERS + 1)
    names = [f"{backend}-writer-{number}" for number in range(WRITERS)]
    processes = [
        spawning.Process(
            target=_write,
            args=(folder, name, database.add_role(name, writes=(name,)), database.schema),
            kwargs={"backend": backend, "seed": seed, "ready": ready},
        )
        for seed, name in enumerate(names)
    ]
    for process in processes:
        process.start()
    try:
        ready.wait(LIMIT_SECONDS)
        began, busy = time.perf_counter(), count_all_seconds()
        ready.wait(LIMIT_SECONDS)
        seconds, used = time.perf_counter() - began, count_all_seconds() - busy
    except BaseException:
        ready.abort()
        raise
    finally:
        for process in processes:
            process.join(60)
            process.kill()
    return {
        "backend": backend, "writers": WRITERS, "notes": WRITERS * NOTES, "seconds": round(seconds, 2),
        "notes_a_second": round(WRITERS * NOTES / seconds), "cpu_ms": round(used / (WRITERS * NOTES) * 1000, 1),
    }  # fmt: skip


def _write(folder: Path, name: str, dsn: str, schema: str, *, backend: str, seed: int, ready: Barrier) -> None:
    """Sync new notes, once all writers have loaded what they need."""
    opened = open_agent(folder, name, dsn, schema)
    used = opened if backend == "postgres" else BuiltinBackend(BackendContext(config=opened._config))
    try:
        (folder / name / "notes/MEMORY.md").write_text("The first note loads the model.\n")
        used.memory_sync(False, None)
        write_daily_notes(folder / name / "notes", NOTES, seed=seed, chars=CHARS)
        ready.wait(LIMIT_SECONDS)
        report = used.memory_sync(False, None)
        assert report.added == NOTES, report
        ready.wait(LIMIT_SECONDS)
    except BaseException:
        ready.abort()  # nobody waits for one that failed
        raise
    finally:
        used.memory_close()
        opened.memory_close()
