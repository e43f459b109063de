"""The backend postgres beside builtin: searches, sizes, writes, a large tenant, many agents and outages.

A few agents with 50 notes each are asked amid tenants that are copies of theirs. These are loaded in bulk into the tables of the
product; its indexes for keywords and hashes are dropped while rows are loaded, and made again after. Times of the wall depend on
what else the machine does, and its load is told; processor time tells more.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from memory_core.config.fields import Secret
from memory_core.config.settings import Remote, SearchSettings
from tests.benchmarks.postgres import tables
from tests.benchmarks.postgres.large import measure_large
from tests.benchmarks.postgres.load import configure, multiply_tenants
from tests.benchmarks.postgres.meter import Row
from tests.benchmarks.postgres.outages import measure_outages
from tests.benchmarks.postgres.searches import make_agents, measure_searches, measure_size
from tests.benchmarks.postgres.simulation import count_copies, simulate
from tests.benchmarks.postgres.writers import measure_writers
from tests.servers.openai import OpenAIServer
from tests.servers.postgres import Database, RealServer, make_database

SIZES = (10_000, 100_000)
LARGE = 100_000
HALF = 100_000  # chunks with vectors of 16 bits, which another model has made, whose bytes are counted
DIMENSIONS = 256  # of these, as many as the built-in model has
LEVELS = (
    125,
    250,
    500,
    1000,
)  # simulated agents, as far as there are tenants; more of them need more than 20 GB of memory here
PARTS = ("searches", "writers", "simulation", "large", "outages", "halfvec")


class Run:
    """One run of the parts on one server.

    Attributes:
        figures: Of each part a list of rows.
    """

    def __init__(self, folder: Path, server: RealServer, options: argparse.Namespace) -> None:
        self._folder = folder
        self._server = server
        self._options = options
        self._sizes = sorted({*SIZES[: options.sizes], *options.chunks})
        with psycopg.connect(server.dsn()) as admin:
            ((version,),) = admin.execute("SELECT current_setting('server_version')").fetchall()
        self.figures: dict[str, Any] = {"about": {"server": version, "processors": os.cpu_count()}}

    def run(self) -> None:
        """Run all parts that were asked for."""
        database = make_database(self._server)
        agents = make_agents(self._folder, database)
        try:
            for turn, chunks in enumerate(self._sizes):
                load(database, chunks)
                if "searches" in self._options.parts:
                    self._show("searches", measure_searches(agents, self._server, database, turn))
                self._show("sizes", [_measure_size(database, "built-in")])
            for part in self._options.parts:
                if part in PARTS[1:]:
                    self._show("sizes" if part == "halfvec" else part, getattr(self, f"_run_{part}")(database))
        finally:
            for pair in agents:
                for backend in pair:
                    backend.memory_close()

    def _run_writers(self, database: Database) -> list[Row]:
        return measure_writers(self._folder, database)

    def _run_simulation(self, database: Database) -> list[Row]:
        copies = count_copies(database)
        levels = [level for level in LEVELS if level <= copies] or [copies]
        return simulate(self._folder, database, levels, self._options.seconds)

    def _run_large(self, database: Database) -> list[Row]:
        return [measure_large(self._folder, database, self._options.large, self._server)]

    def _run_outages(self, database: Database) -> list[Row]:
        dsn = self._server.dsn(database.name, f"{database.name}_agent0")
        return measure_outages(self._folder, "agent0", dsn, database.schema, self._server)

    def _run_halfvec(self, _: Database) -> list[Row]:
        other = make_database(self._server)
        with OpenAIServer(dimensions=DIMENSIONS) as endpoint:
            remote = Remote(base_url=endpoint.url, api_key=Secret("sk-loopback"))
            search = SearchSettings(provider="openai", output_dimensionality=DIMENSIONS, remote=remote)
            for pair in make_agents(self._folder / "halfvec", other, "halfvec", search):
                for backend in pair:
                    assert backend.memory_sync(False, None).pending == 0
                    backend.memory_close()
        load(other, min(HALF, self._sizes[-1]))
        return [_measure_size(other, "halfvec")]

    def _show(self, part: str, rows: list[Row]) -> None:
        self.figures[part] = [*self.figures.get(part, ()), *rows]
        print(f"\n{tables.TABLES[part](rows)}", flush=True)
        for path in self._options.json:  # at once: a run that is broken off keeps what it has
            path.write_text(json.dumps(self.figures, indent=1) + "\n", encoding="utf-8")


def load(database: Database, chunks: int) -> None:
    """Load copies of tenants until there are that many chunks."""
    began = time.perf_counter()
    multiply_tenants(database, chunks)
    print(f"\nloaded {chunks:,} chunks in {time.perf_counter() - began:.0f} s", flush=True)


def _measure_size(database: Database, vectors: str) -> Row:
    chunks, tenants, size = measure_size(database)
    return {"chunks": chunks, "tenants": tenants, "vectors": vectors, "bytes": size}


def main() -> int:
    """Run on a server of its own, which is gone afterwards."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.postgres", description=__doc__)
    parser.add_argument("--chunks", type=int, action="append", default=[], help="one more size than 10,000 and 100,000")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of these two are run")
    parser.add_argument("--large", type=int, default=LARGE, help="chunks of the large tenant")
    parser.add_argument("--seconds", type=float, default=40.0, help="for each number of simulated agents")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--json", type=Path, action="append", default=[], help="write the figures there")
    parser.add_argument(
        "--keep", dest="json", action="append_const", const=tables.KEPT,
        help="keep them for docs/postgres.md; `make docs` writes it anew",
    )  # fmt: skip
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # outages are made on purpose
    server = RealServer()
    try:
        configure(server)
        with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as scratch:
            Run(Path(scratch), server, options).run()
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
