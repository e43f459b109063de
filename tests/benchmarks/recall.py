"""Recall and times of the nearest windows: python -m tests.benchmarks.recall [--beside FOLDER] [--model MODEL] [SIZE ...]

Recall is the share of the 10 and 100 nearest windows, by numpy's comparison of all vectors, that a search of the index finds.
SIZE counts chunks, of 3 windows each, or of 1 where that makes too many numbers. Vectors are those of sentences by the static
model, and by MODEL, the folder of a BERT; and made ones in clusters, of 1,536 dimensions and of 384 in a narrow cone. FOLDER is
another checkout with its own `.venv`, which answers on the same vectors. Exit code 1 if its recall is higher.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZES = (1_000, 3_300, 10_000, 100_000)
WIDE, CONE = ("wide", 1_536), ("cone", 384)
WINDOWS = 3  # of a chunk
MOST_NUMBERS = 160_000_000  # of one set of vectors, 640 MB
MOST_READ = 10_000  # sentences that MODEL reads, 2 ms each
QUESTIONS = 40
DEPTHS = (10, 100)
STEP = 5_000
TOLERANCE = 0.005
# Where this checkout and older ones have the store, the space, and the embeddings that a store takes.
PLACES = (
    ("memory_core.stores.sqlite", "memory_core.records", "memory_core.stores.values"),
    ("memory_core.builtin.store", "memory_core.embeddings.protocols", "memory_core.sync.prepared"),
)


def make_sentences() -> Iterator[str]:
    """Yield sentences without end, no two of which are equal."""
    from tests.benchmarks.daily_notes import Vocabulary

    words, dice = Vocabulary(1), random.Random(1)
    while True:
        yield words.text(dice.randint(8, 30))


def embed_sentences(model: Path | None, folder: Path) -> Iterator[NDArray[np.float32]]:
    """Yield vectors of sentences in steps without end, by the static model or another one."""
    import numpy as np

    from memory_core.config.settings import Local
    from memory_core.embeddings.local import provider as local
    from memory_core.embeddings.static import StaticProvider
    from tests.servers.clients import agent_config

    if model is None:
        provider: Any = StaticProvider()
    else:
        provider = local.open_provider(agent_config(folder, "local", local=Local(model_path=str(model))), environ={})
    with closing(provider):
        sentences = make_sentences()
        while True:
            yield np.concatenate([rows for _, rows in provider.embed_documents([*islice(sentences, STEP)])])


def make_clusters(kind: str, dimensions: int, count: int) -> Iterator[NDArray[np.float32]]:
    """Yield made vectors in steps without end: a few dozen around each centre, as notes on one thing have them."""
    import numpy as np

    dice = np.random.default_rng(7)
    centres = dice.standard_normal((max(count // 40, 1), dimensions), np.float32)
    scale = 1 / np.arange(1, dimensions + 1, dtype=np.float32) ** 0.4  # few directions tell most, as in real models
    shift = 3 * np.linalg.norm(scale) / dimensions**0.5 if kind == "cone" else 0.0
    while True:
        rows = centres[dice.integers(0, len(centres), STEP)] + dice.standard_normal((STEP, dimensions), np.float32)
        rows = rows * scale + shift
        yield (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def put_vectors(path: Path, steps: Iterator[NDArray[np.float32]], count: int, dimensions: int) -> None:
    """Write `count` vectors and the questions behind them to a file of numpy."""
    import numpy as np

    rows = np.lib.format.open_memmap(path, "w+", np.float32, (count + QUESTIONS, dimensions))
    done = 0
    while done < len(rows):
        step = next(steps)[: len(rows) - done]
        rows[done : done + len(step)] = step
        done += len(step)
    rows.flush()


def search(kind: str, path: Path) -> None:
    """Write an index of the vectors of a file by the code of this checkout, and print what its searches find as JSON."""
    import numpy as np

    from memory_core.config.settings import Vector

    room, records, values = PLACES[importlib.util.find_spec("memory_core.stores") is None]
    store_module, vectors_module, writer_module, records_module, values_module = map(
        importlib.import_module, (f"{room}.store", f"{room}.vectors", f"{room}.writer", records, values)
    )
    rows = np.load(path, mmap_mode="r")
    count = len(rows) - QUESTIONS
    provider = "static" if kind == "static" else "openai"
    space = records_module.Space(provider=provider, model=kind, endpoint="", input_type="", dimensions=rows.shape[1])
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "main.sqlite"
        steps = (range(first, min(first + STEP, count)) for first in range(0, count, STEP))
        embedded = (
            values_module.EmbeddedWindows([*map(make_hash, each)], np.array(rows[each.start : each.stop]))
            for each in steps
        )
        if hasattr(store_module, "SqliteStore"):
            store = store_module.SqliteStore(file, vectors=vectors_module.VectorIndex(Vector()))
            with store.database.write() as connection:
                put_windows(connection, count)
            with store.write() as writer:
                space_id = writer.add_space(space)
            for windows in embedded:
                with store.write() as writer:
                    writer.put_embeddings(space_id, windows)
            with store.write() as writer:
                writer.save_state(serving=space_id)
            read = store.database.read
        else:  # the former version, which `--beside` names
            store = store_module.Store(file)
            store.vectors = vectors_module.VectorIndex(Vector())
            writer = writer_module.StoreWriter(store)
            writer.prepare()
            space_id = writer.add_space(space)
            with store.write() as connection:
                put_windows(connection, count)
            for windows in embedded:
                writer.put_embeddings(space_id, windows, serve=False)
            writer.serve(space_id, complete=True)
            read = store.read
        for question in np.array(rows[count:]):
            begun = time.perf_counter()
            with read() as connection:
                found = store.vectors.find_nearest(connection, space_id, question, max(DEPTHS))
            milliseconds = (time.perf_counter() - begun) * 1000
            answers.append((milliseconds, [int.from_bytes(each.hash, "big") for each in found[: max(DEPTHS)]]))
        store.close()
        size = file.stat().st_size
    print(json.dumps({"answers": answers, "bytes": size}))


def make_hash(number: int) -> bytes:
    return number.to_bytes(16, "big")


def put_windows(connection: Any, count: int) -> None:
    """Let chunks of one file hold windows, so that their embeddings count as used."""
    connection.execute(
        "INSERT INTO files (id, source, path, hash, mtime_ns, size) VALUES (1, 'memory', 'a.md', x'01', 0, 0)"
    )
    connection.executemany(
        "INSERT INTO chunks (id, file_id, start_line, end_line, hash, context, text, units, links)"
        " VALUES (?, 1, 1, 1, x'01', '', '', x'', 0)",
        [(number + 1,) for number in range(-(-count // WINDOWS))],
    )
    connection.executemany(
        "INSERT INTO windows (chunk_id, first, last, hash) VALUES (?, ?, ?, ?)",
        [(n // WINDOWS + 1, n % WINDOWS, n % WINDOWS, make_hash(n)) for n in range(count)],
    )


def find_best(path: Path) -> list[list[int]]:
    """Return the numbers of the nearest vectors of each question, compared as they are."""
    import numpy as np

    rows = np.load(path, mmap_mode="r")
    count = len(rows) - QUESTIONS
    cosines = np.concatenate([rows[first : first + STEP] @ rows[count:].T for first in range(0, len(rows), STEP)])[
        :count
    ]
    return [np.argsort(-column, kind="stable")[: max(DEPTHS)].tolist() for column in cosines.T]


def ask(folder: Path, kind: str, path: Path, best: list[list[int]]) -> dict[int, float]:
    """Let a checkout search the vectors of a file, print the figures, and return its recall at each depth."""
    done = subprocess.run(
        [folder / ".venv/bin/python", __file__, "--search", kind, path],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    times = [milliseconds for milliseconds, _ in said["answers"]]
    recall = {
        depth: statistics.mean(
            len({*near[:depth]} & {*exact[:depth]}) / depth
            for (_, near), exact in zip(said["answers"], best, strict=True)
        )
        for depth in DEPTHS
    }
    found = ", ".join(f"{share:.3f} at {depth}" for depth, share in recall.items())
    milliseconds = f"first {times[0]:6.1f} ms, p50 {statistics.median(times):6.1f} ms"
    print(f"    recall {found}; {milliseconds}; {said['bytes'] / 1e6:6.1f} MB", end="")
    return recall


def main() -> int:
    """Measure all sets, and print a line for each checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sizes", nargs="*", type=int, metavar="SIZE", help="chunks; default: %(default)s", default=[*SIZES]
    )
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout, with its own .venv")
    parser.add_argument("--model", type=Path, metavar="MODEL", help="the folder of a BERT")
    parser.add_argument("--search", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search:
        search(given.search[0], Path(given.search[1]))
        return 0
    here = Path(__file__).resolve().parents[2]
    models: Mapping[str, tuple[Path | None, int]] = {"static": (None, 256)}
    if given.model:
        models = {**models, "bert": (given.model.resolve(), 384)}
    missed = False
    for size in given.sizes:
        for kind, dimensions in (*((name, width) for name, (_, width) in models.items()), WIDE, CONE):
            most = MOST_READ if kind == "bert" else MOST_NUMBERS // dimensions
            count = size * WINDOWS if size * WINDOWS <= most else size
            if count > most:
                continue
            with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder:
                path = Path(folder) / "vectors.npy"
                steps = (
                    embed_sentences(models[kind][0], Path(folder))
                    if kind in models
                    else make_clusters(kind, dimensions, count)
                )
                put_vectors(path, steps, count, dimensions)
                best = find_best(path)
                print(f"{kind:6s} {size:7,} chunks, {count:7,} vectors of {dimensions:5,} dimensions")
                own = ask(here, kind, path, best)
                if given.beside:
                    print()
                    other = ask(given.beside.resolve(), kind, path, best)
                    if any(own[depth] < other[depth] - TOLERANCE for depth in DEPTHS):
                        print(" beside: MISSED", end="")
                        missed = True
                    else:
                        print(" beside", end="")
                print(flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
