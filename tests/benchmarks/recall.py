"""Recall and times of the vector side of an index: python -m tests.benchmarks.recall [--before CHECKOUT] [SIZE ...]

Recall is the share of the 10 and 100 nearest windows of numpy's comparison of all vectors that a search finds. Vectors are
made: clusters, as chats and notes have them, of 256 dimensions as the static model stores them, of 384 in a narrow cone, and of
1,536. SIZE counts chunks, each with 3 windows. With --before, another checkout of the project, with a virtual environment of its
own, answers beside this one.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZES = (1_000, 3_300, 10_000, 100_000)
KINDS = {"static": 256, "cone": 384, "wide": 1_536}
MOST_NUMBERS = 100_000_000  # of one set of vectors, 400 MB; larger sets are left out
WINDOWS = 3  # of a chunk
QUESTIONS = 30
STEP = 5_000
# Where this checkout and older ones have the store, the space, and the embeddings that a store takes.
PLACES = (
    ("memory_core.stores.sqlite", "memory_core.records", "memory_core.stores.values"),
    ("memory_core.builtin.store", "memory_core.embeddings.protocols", "memory_core.sync.prepared"),
)


def make_vectors(kind: str, count: int) -> Iterator[NDArray[np.float32]]:
    """Yield the vectors of a set in steps, and the questions last."""
    import numpy as np

    dice, dimensions = np.random.default_rng(7), KINDS[kind]
    centres = dice.standard_normal((max(count // 40, 1), dimensions)).astype(np.float32)
    scale = 1 / np.arange(1, dimensions + 1) ** 0.4  # few directions tell most, as in real models
    shift = 3 * np.linalg.norm(scale) / dimensions**0.5 if kind == "cone" else 0.0
    for size in (*([STEP] * (count // STEP)), count % STEP, QUESTIONS):
        if size:
            rows = centres[dice.integers(0, len(centres), size)] + dice.standard_normal((size, dimensions))
            rows = (rows * scale + shift).astype(np.float32)
            if kind == "static":
                rows = np.round(rows * (127 / np.abs(rows).max(axis=1, keepdims=True)))
            yield rows / np.linalg.norm(rows, axis=1, keepdims=True)


def measure(kind: str, size: int) -> str:
    """Write an index of made vectors by this checkout's code, and return its recall and times as a line."""
    import numpy as np

    from memory_core.config.settings import Vector

    room, records, values = PLACES[importlib.util.find_spec("memory_core.stores") is None]
    store_module, vectors_module, writer_module, records_module, values_module = map(
        importlib.import_module, (f"{room}.store", f"{room}.vectors", f"{room}.writer", records, values)
    )
    provider = "static" if kind == "static" else "openai"
    space = records_module.Space(provider=provider, model=kind, endpoint="", input_type="", dimensions=KINDS[kind])
    *steps, questions = make_vectors(kind, size * WINDOWS)
    taken: list[float] = []
    cpu: list[float] = []
    shares: dict[int, list[float]] = {10: [], 100: []}
    with tempfile.TemporaryDirectory() as folder:
        store = store_module.Store(Path(folder) / "main.sqlite")
        store.vectors = vectors_module.VectorIndex(Vector())
        writer = writer_module.StoreWriter(store)
        writer.prepare()
        space_id = writer.add_space(space)
        _put_windows(store, size)
        done = 0
        for rows in steps:
            hashes = [_make_hash(done + number) for number in range(len(rows))]
            writer.put_embeddings(space_id, values_module.EmbeddedWindows(hashes, rows), serve=False)
            done += len(rows)
        writer.serve(space_id, complete=True)
        held = np.concatenate(steps)
        for question in questions:
            started, spent = time.perf_counter(), time.process_time()
            with store.read() as connection:
                found = store.vectors.find_nearest(connection, space_id, question, 100)
            taken.append((time.perf_counter() - started) * 1000)
            cpu.append((time.process_time() - spent) * 1000)
            best = np.argsort(-(held @ question))[:100].tolist()
            for depth, own in shares.items():
                near = {int.from_bytes(each.hash, "big") for each in found[:depth]}
                own.append(len(near & {*best[:depth]}) / depth)
        store.close()
    recall = ", ".join(f"{statistics.mean(own):.3f} at {depth}" for depth, own in shares.items())
    times = f"p50 {statistics.median(taken):.1f} ms, first {taken[0]:.1f} ms"
    return f"recall {recall}; {times}; of the processor's time {statistics.median(cpu):.1f} and {cpu[0]:.1f} ms"


def _make_hash(number: int) -> bytes:
    return number.to_bytes(16, "big")


def _put_windows(store: Any, size: int) -> None:
    """Let chunks of one file hold windows, so that their embeddings count as used."""
    with store.write() as connection:
        connection.execute(
            "INSERT INTO files (id, source, path, hash, mtime_ns, size) VALUES (1, 'memory', 'a.md', x'01', 0, 0)"
        )
        connection.executemany(
            "INSERT INTO chunks (id, file_id, start_line, end_line, hash, context, text, units)"
            " VALUES (?, 1, 1, 1, x'01', '', '', x'')",
            [(number + 1,) for number in range(size)],
        )
        connection.executemany(
            "INSERT INTO windows (chunk_id, first, last, hash) VALUES (?, ?, ?, ?)",
            [(n // WINDOWS + 1, n % WINDOWS, n % WINDOWS, _make_hash(n)) for n in range(size * WINDOWS)],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sizes", nargs="*", type=int, metavar="SIZE", help="chunks; default: %(default)s", default=[*SIZES]
    )
    parser.add_argument("--before", type=Path, help="another checkout, which answers beside this one")
    parser.add_argument("--one", choices=KINDS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(measure(given.one, given.sizes[0]))
        return
    here = Path(__file__).resolve()
    asked = [("now", here.parents[2], sys.executable)]
    if given.before:
        before = given.before.resolve()
        asked.append(("before", before, str(before / ".venv/bin/python")))
    for kind, dimensions in KINDS.items():
        for size in given.sizes:
            if size * WINDOWS * dimensions > MOST_NUMBERS:
                continue
            for name, folder, python in asked:
                command = [python, str(here), "--one", kind, str(size)]
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=os.environ | {"PYTHONPATH": str(folder)},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                line = done.stdout.strip() or done.stderr.strip().splitlines()[-1]
                print(f"{kind:6} {size:7,} chunks {name:6}  {line}", flush=True)


if __name__ == "__main__":
    main()
