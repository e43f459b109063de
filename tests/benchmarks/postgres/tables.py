"""The figures of `make bench-postgres` as Markdown tables; those that were kept last are in docs/postgres.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.command import REPOSITORY

KEPT = REPOSITORY / "tests" / "benchmarks" / "postgres.json"
AGENTS = 10_000  # for which arithmetic goes on where this machine ends
SEARCHES_A_SECOND = AGENTS * 2 / 60

Figures = Mapping[str, Any]


def load_figures() -> Figures:
    """Return the figures that were kept last."""
    kept: Figures = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept


def tell_searches(rows: Sequence[Figures]) -> str:
    """Return a table of one agent's searches amid more and more chunks."""
    head = ("chunks in all", "tenants", "backend", "p50 ms", "p95 ms", "agent's CPU ms", "server's CPU ms", "load")
    keys = ("chunks", "tenants", "backend", "p50_ms", "p95_ms", "own_cpu_ms", "server_cpu_ms", "load")
    return _tabulate(head, rows, keys)


def tell_sizes(rows: Sequence[Figures]) -> str:
    """Return a table of what chunks take on disk."""
    head = ("chunks", "tenants", "vectors", "MB", "KB a chunk")
    told = [{**row, "mb": row["bytes"] / 1e6, "kb": f"{row['bytes'] / row['chunks'] / 1000:.2f}"} for row in rows]
    return _tabulate(head, told, ("chunks", "tenants", "vectors", "mb", "kb"))


def tell_writers(rows: Sequence[Figures]) -> str:
    """Return a table of processes that write at the same time."""
    head = ("backend", "processes", "notes", "seconds", "notes a second", "CPU ms a note")
    return _tabulate(head, rows, ("backend", "writers", "notes", "seconds", "notes_a_second", "cpu_ms"))


def tell_large(rows: Sequence[Figures]) -> str:
    """Return a table of a large tenant."""
    head = (
        "chunks of one tenant",
        "p50 ms",
        "p95 ms",
        "agent's CPU ms",
        "server's CPU ms",
        "recall@10",
        "exact ms",
        "load",
    )
    keys = ("chunks", "p50_ms", "p95_ms", "own_cpu_ms", "server_cpu_ms", "recall_at_10", "exact_ms", "load")
    return _tabulate(head, rows, keys)


def tell_outages(rows: Sequence[Figures]) -> str:
    """Return a table of searches while the server is out."""
    head = ("server", "first search, ms", "median after it, ms", "slowest after it, ms", "served again after, s")
    return _tabulate(head, rows, ("outage", "first_ms", "later_ms", "slowest_ms", "back_seconds"))


def tell_simulation(rows: Sequence[Figures]) -> str:
    """Return a table of many agents that work at the same time."""
    head = (
        "agents", "searches a second", "p50 ms", "p95 ms", "server's CPU ms a search", "server's cores",
        "agents' CPU ms a search", "cores in all", "notes written", "MB a connection",
    )  # fmt: skip
    keys = (
        "agents", "searches_a_second", "p50_ms", "p95_ms", "server_cpu_ms", "server_cores", "own_cpu_ms", "machine_cores",
        "notes", "connection_mb",
    )  # fmt: skip
    return _tabulate(head, rows, keys)


TABLES: Mapping[str, Callable[[Sequence[Figures]], str]] = {
    "searches": tell_searches, "sizes": tell_sizes, "writers": tell_writers, "large": tell_large,
    "outages": tell_outages, "simulation": tell_simulation,
}  # fmt: skip


def _tabulate(head: Sequence[str], rows: Sequence[Figures], keys: Sequence[str]) -> str:
    lines = [head, ["---" if key in ("backend", "outage", "vectors") else "---:" for key in keys]]
    lines += [[_write(row[key]) for key in keys] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _write(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
