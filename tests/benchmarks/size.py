"""Time of a search in a large workspace of real text: python -m tests.benchmarks.size DATA [--chunks N] [--provider ID]

The conversations of DATA are copied until the index holds so many chunks. In every copy but the first, a third of the words are
others of the same conversation, so that no text stands there twice and words are as frequent as in the original. Asked are the
judged questions, one after the other, in a process that has searched before. Beside it stands a plain FTS5 query of the same
index: the words of the question, joined by OR.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.settings import ProviderId
from memory_core.records import Query
from tests.benchmarks import bench
from tests.benchmarks.judged import conversations, load_questions

CHUNKS, TARGET_MS = 12_000, 8.0
PROVIDERS: tuple[ProviderId, ...] = ("static", "none")
_WORD = re.compile(r"\b[A-Za-z]{3,}\b")


def varied(text: str, words: Sequence[str], rng: random.Random) -> str:
    """The text with a third of its words replaced, by some that occur as often as they do in `words`."""
    return _WORD.sub(lambda match: rng.choice(words) if rng.random() < 1 / 3 else match.group(), text)


def copies(data: Path, workspace: Path, chunks: int, store: BuiltinBackend) -> int:
    """Copy all conversations until the index of the workspace holds so many chunks; how many it holds then."""
    rng, held, wanted, number = random.Random(0), 0, 1, 0
    while held < chunks:
        for number in range(number, wanted):  # noqa: B020 -- goes on where it was
            copy(data, workspace, number, rng)
        held, number = store.memory_sync(force=False, progress=None).chunks, wanted
        wanted = max(-(-chunks * wanted // held), wanted + 1)
    return held


def copy(data: Path, workspace: Path, number: int, rng: random.Random) -> None:
    """One copy of every conversation; number 0 is as the original."""
    for folder in conversations(data):
        notes = {path: path.read_text(encoding="utf-8") for path in sorted((folder / "memory").rglob("*.md"))}
        words = [word for text in notes.values() for word in _WORD.findall(text)]
        target = workspace / "memory" / f"{number:02d}-{folder.name}"
        target.mkdir(parents=True)
        for path, text in notes.items():
            (target / path.name).write_text(varied(text, words, rng) if number else text, encoding="utf-8")


def measured(data: Path, scratch: Path, *, chunks: int = CHUNKS, provider: ProviderId = "static") -> str:
    """One line: p50 and p95 of a search, and the plain query beside it."""
    workspace, state = scratch / "copies", scratch / "copies-state"
    asked = [question.text for folder in conversations(data) for question in load_questions(folder)]
    random.Random(0).shuffle(asked)
    store = bench.backend(workspace, state, provider)
    try:
        held = copies(data, workspace, chunks, store)
        for text in asked[:20]:
            store.memory_search(Query(text=text))
        taken = []
        for text in asked:
            started = time.perf_counter()
            store.memory_search(Query(text=text))
            taken.append((time.perf_counter() - started) * 1000)
    finally:
        store.memory_close()
    taken.sort()
    p50, p95 = taken[len(taken) // 2], taken[int(len(taken) * 0.95)]
    plain = bench.plain_fts(state / f"{provider}.sqlite", asked)
    return (
        f"search, {held:,} chunks of copies, {provider}: p50 {p50:.1f} ms (target {TARGET_MS:g}), p95 {p95:.1f} ms,"
        f" plain FTS5 OR {plain:.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--provider", choices=PROVIDERS, default=PROVIDERS[0])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as scratch:
        print(measured(options.data, Path(scratch), chunks=options.chunks, provider=options.provider))


if __name__ == "__main__":
    main()
