"""Searches while the server is down, while it hangs, and until it serves again."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from memory_core.backends.selector import Selector
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import MemorySettings
from memory_core.records import Query
from tests.benchmarks.postgres.meter import Row
from tests.servers.postgres import RealServer

CALLS = 30  # in each outage
HUNG, STOPPED = "hung (SIGSTOP)", "stopped (SIGKILL)"
PAUSE_SECONDS = 0.3  # between calls to a server that hangs: while they go on, it is tried again
BACK_SECONDS = 120  # until it serves again, at most


def measure_outages(folder: Path, name: str, dsn: str, schema: str, server: RealServer) -> list[Row]:
    """Ask the agent `name`, whose workspace is in the folder, during two outages; it has the default timeouts."""
    config = AgentConfig(
        agent=name, workspace=folder / name / "notes", state_dir=folder / "out", store_path=folder / "out/index.sqlite",
        memory=MemorySettings(backend="postgres"), backend_sections={"postgres": {"dsn": dsn, "schema": schema}},
    )  # fmt: skip
    rows: list[Row] = []
    for outage in (STOPPED, HUNG):
        selector = Selector(config)
        try:
            selector.sync()
            _, backend = _ask(selector)
            assert backend == "postgres", backend
            if outage == STOPPED:
                server.kill()
                times = [_ask(selector) for _ in range(CALLS)]
                server.start()
            else:
                with server.suspended():
                    times = [_ask(selector, pause_seconds=PAUSE_SECONDS) for _ in range(CALLS)]
            rows.append({"outage": outage, **_summarise(times), "back_seconds": round(_wait_until_served(selector), 1)})
        finally:
            selector.close()
    return rows


def _summarise(times: list[tuple[float, str]]) -> Row:
    assert {backend for _, backend in times} == {"builtin"}
    first, *later = (seconds * 1000 for seconds, _ in times)
    return {"first_ms": round(first), "later_ms": round(statistics.median(later)), "slowest_ms": round(max(later))}


def _wait_until_served(selector: Selector) -> float:
    """Return the seconds until an answer comes from the server again."""
    began = time.monotonic()
    while _ask(selector)[1] != "postgres":
        if time.monotonic() > began + BACK_SECONDS:
            raise RuntimeError(f"the server runs, and does not serve within {BACK_SECONDS} s")
        time.sleep(0.1)
    return time.monotonic() - began


def _ask(selector: Selector, *, pause_seconds: float = 0.0) -> tuple[float, str]:
    time.sleep(pause_seconds)
    began = time.perf_counter()
    found = selector.search(Query(text="Where is the harbour?"))
    return time.perf_counter() - began, found.backend
