"""The cost of one changed note in a large index, against the same change in a small one.

    python -m tests.benchmarks.incremental [CHUNKS]

Two large indexes stand beside one of 1,000 chunks in 100 notes: one with as many, longer notes, one with more notes of the same
length. The changes are paired: the same text goes into the same note of each in turn, and the median of 30 counts.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memory_core.config.settings import Chunking, SearchSettings
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.embeddings.static import StaticProvider
from memory_core.stores.sqlite.store import SqliteStore
from memory_core.stores.sqlite.vectors import VectorIndex
from tests.index import Index

ROUNDS = 30
SMALL_NOTES, NOTE_CHUNKS = 100, 10
WORDS = [
    a + b for a in ("har", "den", "fen", "pai", "scho", "ket", "mar", "vio") for b in ("bour", "tist", "ce", "nt", "ol")
]


def section(dice: random.Random) -> str:
    """Return a text that becomes one chunk."""
    return f"# {dice.choice(WORDS)} {dice.randrange(10**9)}\n\n" + " ".join(dice.choices(WORDS, k=30)) + "\n\n"


def built(folder: Path, notes: int, chunks: int, provider: EmbeddingProvider) -> Index:
    """An index of so many notes with so many chunks in all; the first note is as long in each."""
    index = Index(
        folder / "notes", folder / "state", SearchSettings(provider="static", chunking=Chunking(tokens=100, overlap=0))
    )
    index.vectors = VectorIndex(index.search.store.vector)
    dice = random.Random(notes)
    index.note("memory/0.md", changed(0))
    for n in range(1, notes):
        index.note(f"memory/{n}.md", "".join(section(dice) for _ in range((chunks - NOTE_CHUNKS) // (notes - 1))))
    began = time.perf_counter()
    report = index.sync(provider)
    print(
        f"  {report.chunks:,} chunks in {report.files:,} notes, built in {time.perf_counter() - began:.0f} s",
        flush=True,
    )
    return index


def changed(number: int) -> str:
    """The note that changes, with one section that is new in each round."""
    same, new = random.Random(1), random.Random(1000 + number)
    return "".join(section(new if n == NOTE_CHUNKS // 2 else same) for n in range(NOTE_CHUNKS))


def seconds(index: Index, provider: EmbeddingProvider | None, *, force: bool = False) -> float:
    """Measure one sync, in seconds."""
    began = time.perf_counter()
    index.sync(provider, force=force)
    return time.perf_counter() - began


def medians(
    indexes: list[Index], provider: EmbeddingProvider | None, prepare: Callable[[Index], object]
) -> list[float]:
    """The median seconds of a sync of each, taken in turn."""
    taken: list[list[float]] = [[] for _ in indexes]
    for _ in range(ROUNDS):
        for index, mine in zip(indexes, taken, strict=True):
            prepare(index)
            mine.append(seconds(index, provider))
    return [statistics.median(mine) for mine in taken]


def versions() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


def longest_held_up(index: Index, provider: EmbeddingProvider) -> None:
    """Rebuild the whole index, and how long a reader and another writer had to wait meanwhile at most."""
    ended, slowest = threading.Event(), {"reader": 0.0, "writer": 0.0}
    store = SqliteStore(index.config.store_path)

    def read() -> None:
        with store.database.read() as connection:
            connection.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'harbour' LIMIT 50").fetchall()

    def write() -> None:
        with store.database.write():
            pass

    def go_on(who: str, work: Callable[[], None]) -> None:
        while not ended.is_set():
            began = time.perf_counter()
            work()
            slowest[who] = max(slowest[who], time.perf_counter() - began)

    index.sync(provider)
    threads = [threading.Thread(target=go_on, args=work) for work in (("reader", read), ("writer", write))]
    for thread in threads:
        thread.start()
    took = seconds(index, provider, force=True)
    ended.set()
    for thread in threads:
        thread.join()
    store.close()
    told = ", ".join(f"a {who} waited {most * 1000:.0f} ms at most" for who, most in slowest.items())
    print(f"rebuilt in {took:.0f} s: {told}", flush=True)


def main(chunks: int = 100_000) -> None:
    provider = StaticProvider()
    with tempfile.TemporaryDirectory() as folder:
        shapes = [(SMALL_NOTES, SMALL_NOTES * NOTE_CHUNKS), (SMALL_NOTES, chunks), (chunks // NOTE_CHUNKS, chunks)]
        indexes = [built(Path(folder) / str(n), *shape, provider) for n, shape in enumerate(shapes)]
        numbers = versions()

        def change(index: Index) -> None:
            index.note("memory/0.md", changed(next(numbers)))

        for name, chosen in (("static", provider), ("none", None)):
            for index in indexes:
                index.sync(chosen)
            for what, prepare in (("nothing changed", lambda _index: None), ("one note changed", change)):
                small, *large = medians(indexes, chosen, prepare)
                told = ", ".join(f"{own * 1000:.1f} ms ({own / small:.1f}x)" for own in large)
                print(f"{name:>7}, {what:>16}: {small * 1000:.1f} ms; same notes, more notes: {told}", flush=True)
        longest_held_up(indexes[1], provider)
        for index in indexes:
            index.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
