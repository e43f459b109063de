"""The cost of keeping history, over a year in which notes change twenty times a day and are synced four times.

    python -m tests.benchmarks.history [--days 365] [--chunks 12000]

Two indexes of one workspace are synced in turn, one with a history and one without, and asked in turn. All times are CPU times of
this process, medians. A year takes four minutes; the default is shorter. `--chunks` begins with so many chunks of older notes.
Cold is asked at five times of the days, and the worst counts; at their end, where no note differs, it is the time of copying the
index.
"""

from __future__ import annotations

import argparse
import difflib
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import memory_core
from memory_core.history.history import History
from memory_core.plugin.memory import Memory
from memory_core.records import CallContext, FileKey, FileStamp, MemoryFile
from memory_core.sync.syncer import cut
from tests.benchmarks.daily_notes import Vocabulary, compose, questions

CALLER = CallContext.local("main")
FIRST_DAY = date(2025, 1, 1)
SYNCS, CHANGES = 4, 20  # a day
ASKED = 30
TIMES = (0.0, 0.25, 0.5, 0.75, 0.9)  # shares of the moments
CHUNKS_OF_A_NOTE = 4.6  # of `compose`, with 5,000 characters
LIMITS = {
    "history bytes / bytes of the diffs": 1.3,
    "sync CPU, with / without": 1.15,
    "present search CPU, with / without": 1.03,
    "as-of search CPU, warm / present": 3.0,
    "as-of search, cold, ms a changed chunk": 0.4,
}


class Keeper:
    """Changes notes day by day as people do: a daily note grows, pages of topics come, are corrected, and rarely go.

    Attributes:
        diff_bytes: Of what was changed, as `diff -U0` tells it; new notes count as a whole.
    """

    def __init__(self, workspace: Path, older: int) -> None:
        self._folder = workspace / "memory"
        self._words, self._dice = Vocabulary(7), random.Random(7)
        self._texts: dict[str, list[str]] = {}
        self._before: dict[str, list[str] | None] = {}
        self.diff_bytes = 0
        self._folder.mkdir(parents=True)
        for name, text in compose(older):
            self._put(name, text.splitlines(keepends=True))

    def change(self, day: date, times: int) -> None:
        """Make so many changes, and write the notes."""
        for _ in range(times):
            self._change_one(f"{day}.md")
        self.write()

    def write(self) -> None:
        """Write what was changed, and count its diff."""
        for name, old in self._before.items():
            new = self._texts.get(name)
            if new is None:
                (self._folder / name).unlink(missing_ok=True)
            else:
                (self._folder / name).write_text("".join(new))
            told = difflib.unified_diff(old or [], new or [], name, name, n=0)
            self.diff_bytes += sum(len(line.encode()) for line in told)
        self._before = {}

    def _put(self, name: str, lines: list[str] | None) -> None:
        self._before.setdefault(name, self._texts.get(name))
        if lines is None:
            del self._texts[name]
        else:
            self._texts[name] = lines

    def _change_one(self, today: str) -> None:
        dice, words = self._dice, self._words
        what = dice.choices(["append", "edit", "edit today", "page", "delete"], [60, 25, 10, 4, 1])[0]
        if what == "append" or today not in self._texts:
            self._put(today, [*self._texts.get(today, [f"# {today[:-3]}\n", "\n"]), self._line()])
        elif what == "page":
            lines = [f"# {words.text(3)}\n", "\n", *(self._line() for _ in range(dice.randint(5, 25)))]
            self._put(f"page-{len(self._texts)}-{dice.randrange(10**6)}.md", lines)
        elif what == "delete":
            self._put(dice.choice(list(self._texts)), None)
        else:
            name = today if what == "edit today" else dice.choice(list(self._texts))
            lines = list(self._texts[name])
            place = dice.choice([at for at, line in enumerate(lines) if line.strip()])
            old = lines[place].split()
            old[dice.randrange(len(old))] = words.text(1)
            lines[place] = " ".join(old) + "\n"
            self._put(name, lines)

    def _line(self) -> str:
        return f"- {self._words.text(self._dice.randint(8, 30))}\n"


def cpu_seconds(call: Callable[..., object], *arguments: Any, **more: Any) -> float:
    """Return the CPU time of a call, of all threads."""
    began = time.process_time()
    call(*arguments, **more)
    return time.process_time() - began


def configured(*, history: bool) -> dict[str, Any]:
    """Return the configuration of one of the two."""
    return {
        "memorySearch": {
            "provider": "static",
            "sync": {"watch": False, "onSearch": False},
            "history": {"enabled": history, "maxBytes": "2gb"},
        }
    }


def ask(memory: Memory, query: str, **more: Any) -> None:
    """Ask, and see that there is an answer."""
    answer = memory.call_tool("memory_search", {"query": query, **more}, CALLER)
    assert "error" not in answer, answer


def count_changed(memory: Memory, instant: datetime) -> int:
    """Return the chunks of the notes that stood otherwise at an instant: as they stand or stood, whichever are more."""
    config = memory.config()
    history = History(config, writable=False)
    moments = history.list_moments()
    then, now = history.list_alive(history.find_moment(instant)), history.list_alive(moments[-1])

    def count(key: FileKey, version: Any) -> int:
        note = history.load_text(version)
        file = MemoryFile(
            source=key.source, path=key.path, real_path=Path(), in_vault=version.in_vault,
            stamp=FileStamp(note.stamp.size_bytes, version.mtime_ns),
        )  # fmt: skip
        return len(cut(file, note, config.search.chunking).chunks)

    total = 0
    for key in then.keys() | now.keys():
        old, new = then.get(key), now.get(key)
        if old is None or new is None or old.hash != new.hash:
            total += max(count(key, version) for version in (old, new) if version is not None)
    history.close()
    return total


def measure_bytes(memory: Memory) -> int:
    """Return the size of a history, with what its write-ahead log holds."""
    history = History(memory.config(), writable=False)
    size = history.measure().size_bytes
    history.close()
    return size


def measure(folder: Path, days: int, older: int) -> Iterator[tuple[str, float, str]]:
    """Yield each figure, its name, and what it is made of."""
    keeper = Keeper(folder / "workspace", older)
    keeper.write()
    workspace = folder / "workspace"
    with (
        memory_core.open_memory(configured(history=True), workspace=workspace, state_dir=folder / "with") as kept,
        memory_core.open_memory(configured(history=False), workspace=workspace, state_dir=folder / "without") as bare,
    ):
        pair = (kept, bare)
        syncs: tuple[list[float], list[float]] = ([], [])
        for memory in pair:
            memory.sync()
        keeper.diff_bytes, begun = 0, measure_bytes(kept)
        for number in range(days * SYNCS):
            keeper.change(FIRST_DAY + timedelta(days=number // SYNCS), CHANGES // SYNCS)
            for place in (0, 1) if number % 2 else (1, 0):
                syncs[place].append(cpu_seconds(pair[place].sync))
        status = kept.status()
        print(f"  {status.files:,} notes, {status.chunks:,} chunks, {days * SYNCS:,} syncs", flush=True)
        size = measure_bytes(kept) - begun
        yield "history bytes / bytes of the diffs", size / keeper.diff_bytes, f"{size:,} / {keeper.diff_bytes:,}"
        yield "sync CPU, with / without", *compare(*syncs)

        asked = questions(ASKED)
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(4):  # the first is not counted
            for number, query in enumerate(asked):
                for place in (0, 1) if (number + turn) % 2 else (1, 0):
                    taken = cpu_seconds(ask, pair[place], query)
                    if turn:
                        times[place].append(taken)
        yield "present search CPU, with / without", *compare(*times)

        history = History(kept.config(), writable=False)
        moments = history.list_moments()
        history.close()
        fixed = cpu_seconds(ask, kept, asked[0], asOf=datetime.now().astimezone().isoformat())
        instants = [moments[int(part * (len(moments) - 1))].at for part in TIMES]
        colds: list[list[float]] = [[] for _ in instants]
        for _ in range(3):  # more states than are kept, so that each is made every time
            for place, instant in enumerate(instants):
                colds[place].append(
                    cpu_seconds(ask, kept, asked[0], asOf=instant.isoformat(timespec="milliseconds")) * 1000
                )
        each, costs = list[float](), list[str]()
        for part, instant, times_taken in zip(TIMES, instants, colds, strict=True):
            cold, changed = statistics.median(times_taken), max(count_changed(kept, instant), 1)
            each.append(cold / changed)
            costs.append(f"at {part:.0%}: {cold:.0f} ms, {changed:,} chunks, {each[-1]:.2f} each")
        said = instants[TIMES.index(0.5)].isoformat(timespec="milliseconds")
        warm: tuple[list[float], list[float]] = ([], [])
        ask(kept, asked[0], asOf=said)
        for query in asked:
            warm[0].append(cpu_seconds(ask, kept, query, asOf=said))
            warm[1].append(cpu_seconds(ask, kept, query))
        yield "as-of search CPU, warm / present", *compare(*warm)
        told = f"the worst; at the end: {fixed * 1000:.0f} ms; {'; '.join(costs)}"
        yield "as-of search, cold, ms a changed chunk", max(each), told


def compare(ours: list[float], theirs: list[float]) -> tuple[float, str]:
    """Return the median of the ratios of pairs, and the medians of each."""
    ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    return ratio, f"{statistics.median(ours) * 1000:.2f} / {statistics.median(theirs) * 1000:.2f} ms"


def main() -> None:
    """Print a table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--chunks", type=int, default=0, help="chunks of older notes to begin with (0)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"History: {arguments.days} days, {CHANGES} changes and {SYNCS} syncs a day", flush=True)
        for name, value, said in measure(Path(folder), arguments.days, round(arguments.chunks / CHUNKS_OF_A_NOTE)):
            limit = LIMITS[name]
            print(f"  {name:<40}{value:8.3f}  limit {limit:<5}{'MISSED' if value > limit else ''} {said}", flush=True)


if __name__ == "__main__":
    main()
