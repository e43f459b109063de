"""The time of a recall over 10,000 chunks and 5,000 items with the static model: python -m tests.benchmarks.recall_speed

Prints wall time and CPU time of all threads, in milliseconds, for messages that ask and for small talk. `--profile` prints the
functions that take most of it.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import memory_core
from memory_core.items.records import Item
from memory_core.records import Origin
from tests.benchmarks.bench import CHUNKS_A_NOTE, write_notes
from tests.benchmarks.daily_notes import Vocabulary, questions

MESSAGES = 200
TARGET_MS = 50.0
SMALL_TALK = ("thanks, that helps a lot", "ok", "go ahead please", "can you make it shorter?", "what can you do?")


def make_items(count: int) -> Iterator[Item]:
    """Facts of 8 to 20 words in the words of the notes."""
    words, rng = Vocabulary(1), random.Random(3)
    now = time.time()
    for number in range(count):
        said = now - rng.random() * 180 * 86_400
        yield Item(
            id=f"{number:010x}", content=f"{words.text(rng.randint(8, 20))} {number}", scope="default", tags=(), agent="main",
            kind="fact", pending=False, created=said, updated=said, said=said, recalled=None,
            reinforced=rng.choice((0, 0, 0, 1, 4)), origin=Origin(by="user"), superseded_by=None,
        )  # fmt: skip


@contextmanager
def open_filled(chunks: int, items: int) -> Iterator[memory_core.Memory]:
    """Open a memory with so many chunks and items, indexed and embedded."""
    config = {
        "memorySearch": {
            "provider": "static",
            "items": {"enabled": True},
            "recall": {"enabled": True, "timeoutMs": 60_000},
            "sync": {"watch": False, "onSearch": False},
        }
    }
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "workspace")
        write_notes(workspace, round(chunks / CHUNKS_A_NOTE))
        with memory_core.open_memory(config, workspace=workspace, state_dir=Path(folder, "state")) as memory:
            print(f"{memory.sync().chunks:,} chunks", end=", ", flush=True)
            memory.items.restore(make_items(items))
            memory.items.backfill()
            print(f"{memory.items.count():,} items", flush=True)
            yield memory


def measure(call: Callable[[str], object], messages: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return wall times and CPU times in milliseconds, ascending."""
    walls, cpus = [], []
    for message in messages:
        wall, cpu = time.perf_counter(), time.process_time()
        call(message)
        walls.append(1000 * (time.perf_counter() - wall))
        cpus.append(1000 * (time.process_time() - cpu))
    return sorted(walls), sorted(cpus)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time recall.")
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--profile", action="store_true", help="print the functions that take most time")
    arguments = parser.parse_args()
    asked = questions(MESSAGES + 20)
    with open_filled(arguments.chunks, arguments.items) as memory:
        numbers = iter(range(10**6))

        def recall(message: str) -> object:
            return memory.recall_for_message(message, memory_core.CallContext.local(f"session-{next(numbers)}"))

        measure(recall, asked[:20])
        for name, messages in (("questions", asked[20:]), ("small talk", SMALL_TALK * 20)):
            walls, cpus = measure(recall, messages)
            figures = (
                walls[len(walls) // 2],
                walls[int(0.95 * len(walls))],
                cpus[len(cpus) // 2],
                cpus[int(0.95 * len(cpus))],
            )
            print(
                "{}: wall p50 {:.1f}, p95 {:.1f} ms; CPU p50 {:.1f}, p95 {:.1f} ms".format(name, *figures), flush=True
            )
        print(f"target: p95 below {TARGET_MS:g} ms")
        if arguments.profile:
            profile = cProfile.Profile()
            threading.setprofile(lambda *_: profile.enable())  # recall works in a thread of its own
            measure(recall, asked[20:])
            threading.setprofile(None)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
