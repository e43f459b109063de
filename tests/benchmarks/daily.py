"""Processor time of searches and syncs on daily notes, beside a naive way in the same run: python -m tests.benchmarks.daily

Machines differ and are busy, so that ratios are compared from day to day: our time divided by that of a naive memory, which looks
at every file with pathlib before each search, then asks FTS5 for all words of the question and multiplies its vector with all
vectors. It indexes by cutting notes into pieces of one length, whose text and vectors it inserts. The figures that were kept last
are in daily.json. Exit code 1 when a ratio is more than 1.3 times as large.

  --notes 200,2000   other numbers of notes; 20000 take three minutes
  --json FILE        write the figures, too
  --keep             keep the figures of this run in daily.json; `make docs` draws them in docs/latency.svg
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings, SyncSettings
from memory_core.embeddings.static import DIMENSIONS, StaticProvider
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from memory_core.stores.sqlite.connections import open_reader
from memory_core.stores.sqlite.encoding import decode
from memory_core.stores.sqlite.reader import match_expression
from memory_core.text.terms import extract_words
from tests.benchmarks.daily_notes import questions, write_daily_notes

KEPT = Path(__file__).with_suffix(".json")
REGRESSION = 1.3
RUNS = 60
EDITS = 7
PIECE_CHARACTERS = 700  # of the naive index: about as long as our chunks of daily notes
STEP = 64  # notes of one transaction of it


def cpu(run: Callable[[int], object], *, runs: int = RUNS) -> float:
    """Median milliseconds of processor time, of all threads."""
    taken = []
    for number in range(runs):
        started = time.process_time()
        run(number)
        taken.append((time.process_time() - started) * 1000)
    return statistics.median(taken)


class Naive:
    """A memory as one writes it in an afternoon, over the rows of our index."""

    def __init__(self, workspace: Path, path: Path) -> None:
        self._memory = workspace / "memory"
        self._model = StaticProvider()
        self._db = open_reader(path)
        found = self._db.execute("SELECT embedding FROM embedding_cache")
        rows = cast("list[tuple[bytes]]", found.fetchall())
        self._vectors = decode([row[0] for row in rows], "int8", DIMENSIONS)

    def list_files(self) -> dict[Path, tuple[int, int]]:
        found = {}
        for file in sorted(self._memory.rglob("*.md")):
            info = file.stat()
            found[file] = (info.st_mtime_ns, info.st_size)
        return found

    def index(self, path: Path) -> None:
        """Make an index of all notes."""
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE VIRTUAL TABLE pieces USING fts5(text)")
            db.execute("CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)")
            files = list(self.list_files())
            for first in range(0, len(files), STEP):
                texts = [file.read_text(encoding="utf-8") for file in files[first : first + STEP]]
                pieces = [
                    text[at : at + PIECE_CHARACTERS] for text in texts for at in range(0, len(text), PIECE_CHARACTERS)
                ]
                with db:
                    db.executemany("INSERT INTO pieces (text) VALUES (?)", [(piece,) for piece in pieces])
                    rows = [(vector.tobytes(),) for _, vector in self._model.embed_documents(pieces)]
                    db.executemany("INSERT INTO vectors (vector) VALUES (?)", rows)

    def search(self, text: str) -> tuple[list[Any], list[int]]:
        self.list_files()
        match = match_expression(extract_words(text))
        sql = "SELECT rowid, bm25(chunks_fts) AS score FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY score LIMIT 50"
        words = self._db.execute(sql, (match,)).fetchall()
        cosines = np.einsum("ij,j->i", self._vectors, self._model.embed_query(text))
        return words, np.argsort(-cosines)[:50].tolist()

    def close(self) -> None:
        self._db.close()
        self._model.close()


def measure(scratch: Path, notes: int) -> dict[str, tuple[float, float]]:
    """Return (our milliseconds, the naive ones) by what was done."""
    workspace, state = scratch / f"notes-{notes}", scratch / f"state-{notes}"
    write_daily_notes(workspace, notes)
    sync = SyncSettings(on_search_budget_ms=600_000)
    config = AgentConfig(
        agent="main", workspace=workspace, state_dir=state, store_path=state / "index.sqlite",
        search=SearchSettings(provider="static", sync=sync),
    )  # fmt: skip
    store = BuiltinBackend(BackendContext(config=config))
    started = time.process_time()
    store.memory_sync(force=False, progress=None)
    indexed = (time.process_time() - started) * 1000
    naive = Naive(workspace, config.store_path)
    asked = questions(RUNS)
    edited = min((workspace / "memory").iterdir())

    def edit(number: int) -> None:
        edited.write_text(f"- The quokka number {number} sleeps.\n", encoding="utf-8")
        store.memory_search(Query(text=f"quokka number {number}"))

    for text in asked[:5]:
        store.memory_search(Query(text=text))
        naive.search(text)
    search = cpu(lambda number: naive.search(asked[number]))
    listing = cpu(lambda _: naive.list_files(), runs=EDITS)
    indexing = cpu(lambda _: naive.index(scratch / f"naive-{notes}.sqlite"), runs=1)
    figures = {
        "search": (cpu(lambda number: store.memory_search(Query(text=asked[number]))), search),
        "search after an edit": (cpu(edit, runs=EDITS), search),
        "sync of nothing": (cpu(lambda _: store.memory_sync(force=False, progress=None), runs=EDITS), listing),
        "first sync": (indexed, indexing),
    }
    store.memory_close()
    naive.close()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", default="200,2000", help="numbers of notes, divided by commas")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    held: dict[str, dict[str, float]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    kept = {key: row["ratio"] for key, row in held.items()}
    figures, worse = [], []
    scratch = Path(tempfile.mkdtemp(prefix="memory-core-bench-"))
    print(f"{'processor time':34s} {'ours ms':>10s} {'naive ms':>10s} {'ratio':>8s} {'kept':>8s}")
    try:
        for notes in map(int, options.notes.split(",")):
            for name, (ours, naive) in measure(scratch, notes).items():
                key, ratio = f"{name}, {notes} notes", ours / naive
                worse += [key] if ratio > REGRESSION * kept.get(key, ratio) else []
                held[key] = {"ours_ms": round(ours, 3), "naive_ms": round(naive, 3), "ratio": round(ratio, 3)}
                figures.append({"name": key, "ours_ms": ours, "naive_ms": naive, "ratio": ratio, "kept": kept.get(key)})
                print(
                    f"{key:34s} {ours:10.2f} {naive:10.2f} {ratio:8.3f} {kept.get(key, float('nan')):8.3f}", flush=True
                )
    finally:
        shutil.rmtree(scratch)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if options.keep:
        KEPT.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    if worse:
        print(f"more than {REGRESSION} times as slow as before:", "; ".join(worse), file=sys.stderr)
    return int(bool(worse) and not options.keep)


if __name__ == "__main__":
    sys.exit(main())
