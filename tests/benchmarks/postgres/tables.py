"""The figures of `make bench-postgres` as Markdown tables; those that were kept last are in docs/postgres.md."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.command import REPOSITORY

KEPT = REPOSITORY / "tests" / "benchmarks" / "postgres.json"
AGENTS = 10_000  # for which arithmetic goes on where this machine ends

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
    told = [
        {**row, "mb": round(row["bytes"] / 1e6), "kb": f"{row['bytes'] / row['chunks'] / 1000:.2f}"} for row in rows
    ]
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


def tell_targets(figures: Figures) -> str:
    """Return a table of what was wanted beside what was measured."""
    ours, builtin = (
        [row for row in figures["searches"] if row["backend"] == backend] for backend in ("postgres", "builtin")
    )
    first, last = ours[0], ours[-1]
    growth, server_growth, load_growth = (
        after[key] / before[key]
        for before, after, key in (
            (first, last, "p50_ms"), (first, last, "server_cpu_ms"), (builtin[0], builtin[-1], "p50_ms"),
        )
    )  # fmt: skip
    (writers,) = (row["notes_a_second"] for row in figures["writers"] if row["backend"] == "postgres")
    kilobytes = {row["vectors"]: row["bytes"] / row["chunks"] / 1000 for row in figures["sizes"]}
    (large,) = figures["large"]
    stopped, hung = figures["outages"]
    amid, since = f"amid {last['chunks']:,} chunks", f"from {first['chunks']:,} to {last['chunks']:,} chunks"
    rows = [
        (f"a search {amid}, p50, ms", 25, last["p50_ms"]),
        (f"a search {amid}, p95, ms", 60, last["p95_ms"]),
        (f"a search {amid}, server's CPU, ms", 10, last["server_cpu_ms"]),
        (f"growth of p50 {since}", 1.5, growth),
        ("the same, divided by that of builtin, which only the machine's load makes slower", 1.5, growth / load_growth),
        (f"growth of the server's CPU {since}", 1.5, server_growth),
        ("notes a second of 8 processes", -150, -writers),
        ("KB a chunk with the built-in model, whatever `vectors` says", 6, kilobytes["built-in"]),
        ("KB a chunk with `halfvec` and another model of 256 numbers", 6, kilobytes["halfvec"]),
        (f"a search in one tenant of {large['chunks']:,} chunks, p95, ms", 250, large["p95_ms"]),
        ("the server is stopped: first search, ms", 150, stopped["first_ms"]),
        ("the server hangs: first search, ms", 1600, hung["first_ms"]),
        ("the server hangs: median of later searches, ms", 50, hung["later_ms"]),
        ("the server hangs: slowest of later searches, ms", 50, hung["slowest_ms"]),
    ]  # fmt: skip
    lines = [
        f"| {what} | at {'least' if wanted < 0 else 'most'} {abs(wanted):,} | {abs(measured):,.4g}"
        f" | {'yes' if measured <= wanted else '**no**'} |"
        for what, wanted, measured in rows
    ]
    return "\n".join(["| | target | measured | met |", "| --- | --- | ---: | --- |", *lines]) + "\n"


def count_cores(rows: Sequence[Figures], agents: int) -> float:
    """Return the cores of a server that a number of agents take, by the processor time of a search where most were at work."""
    return agents * 2 / 60 * float(rows[-1]["server_cpu_ms"]) / 1000


def tell_arithmetic(figures: Figures) -> str:
    """Return sentences on 10,000 agents and on more chunks, by what was measured last."""
    rows = figures["simulation"]
    last, rate = rows[-1], AGENTS * 2 / 60
    size = [row["bytes"] / row["chunks"] for row in figures["sizes"] if row["vectors"] == "built-in"][-1]
    server, agents = count_cores(rows, AGENTS), rate * last["own_cpu_ms"] / 1000
    held, each = last["connections"] / last["agents"], last["connection_mb"]
    told = (
        f"Arithmetic, not measured: {AGENTS:,} agents with two searches a minute are {rate:.0f} searches a second. At the"
        f" {last['server_cpu_ms']:g} ms of {last['agents']:,} agents these take {server:.1f} cores of the server, notes included;"
        f" with twice as many, {2 * server:.0f}, it is half idle. The agents' own machines together use {agents:.1f} cores. With"
        f" {held:.0f} open connection of an agent and {each:g} MB a connection, {AGENTS:,} agents hold"
        f" {AGENTS * held * each / 1000:.0f} GB of the server's memory.",
        f"Arithmetic, too: at {size / 1000:.1f} KB a chunk, 10^8 chunks take {size / 10_000:.1f} TB and 10^9 take"
        f" {size / 1000:.0f} TB; a table of PostgreSQL, which each partition is, holds 32 TB.",
    )
    return "\n\n".join(textwrap.fill(each, 130) for each in told) + "\n"


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
