"""A host that forks while its memory works: `python -m tests.forking FOLDER FORKS CONFIG [warm]`.

Its notes change all the time, so that its watcher, its background syncs and its embedding requests run while it forks. Each
child appends a note, syncs and searches, and says how that went through a pipe. What went wrong is printed as JSON. With "warm"
all packages and models are loaded before the first fork.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import multiprocessing
import os
import random
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import memory_core
from memory_core import Memory
from memory_core.concurrency import forks
from memory_core.errors import SyncBusy
from memory_core.plugin import MemorySlot
from memory_core.stores import sqlite

CHILD_SECONDS = 120.0  # on a machine that is busy otherwise; a child that hangs writes where it stands, and ends
AT_ONCE = 3


class Parent:
    """A slot and a memory over one workspace, and the children that use them."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.notes = folder / "ws" / "memory"
        workspace, state_dir = folder / "ws", folder / "state"
        self.slot = MemorySlot(config, workspace=workspace, state_dir=state_dir)
        self.memory: Memory = memory_core.open_memory(config, workspace=workspace, state_dir=state_dir)
        self.items = self.memory.items
        self.problems: list[str] = []
        self.children: dict[int, int] = {}
        self.words: list[str] = []
        self._reader, self._writer = os.pipe()

    def fork(self, number: int) -> None:
        """Fork a child that uses the memory at once."""
        while len(self.children) >= AT_ONCE:
            self.wait_for_one()
        word = f"quokka{number}zebra"
        self.words.append(word)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True)
                os.write(self._writer, (json.dumps(self.work(word, items=number % 10 == 1)) + "\n").encode())
                code = 0
            except BaseException:  # noqa: BLE001 -- shown by the parent
                traceback.print_exc()
            os._exit(code)
        self.children[pid] = number

    def work(self, word: str, *, items: bool = False) -> list[str]:
        """Append, sync and search, and keep an item; return what went wrong."""
        problems = []
        appended = self.slot.call_tool("memory_append", {"text": f"The {word} was seen."})
        if appended.get("status") != "appended":
            problems.append(f"append: {appended}")
        while True:
            try:
                report = self.memory.sync()
                break
            except SyncBusy:
                continue
        if report.warnings:
            problems.append(f"sync: {report.warnings}")
        if items:
            self.items.write(f"The {word} is green.")
            if not any(word in item.content for item in self.items.export()):
                problems.append("the item is not there")
        for tools in (self.slot, self.memory):
            answer = tools.call_tool("memory_search", {"query": word, "minScore": 0, "maxResults": 100})
            if answer.get("stale") or not any(word in hit["snippet"] for hit in answer["results"]):
                problems.append(f"search: {answer}")
        return problems

    def wait_for_one(self) -> None:
        """Wait until a child has ended."""
        pid, status = os.waitpid(-1, 0)
        if status:
            self.problems.append(f"child {self.children[pid]} ended with {status}")
        del self.children[pid]
        while select.select([self._reader], [], [], 0)[0]:
            for line in os.read(self._reader, 1_000_000).decode().splitlines():
                self.problems += json.loads(line)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Change notes and search in other threads, so that syncs and requests are always under way."""
        ended = threading.Event()

        def change() -> None:
            number = 0
            while not ended.wait(random.uniform(0, 0.1)):
                number += 1
                (self.notes / f"n{number % 20}.md").write_text(
                    f"# Note {number}\n\nThe lantern stands in room {number}.\n"
                )

        def search() -> None:
            while not ended.wait(random.uniform(0, 0.1)):
                self.slot.call_tool("memory_search", {"query": "Where is the lantern?"})

        threads = [threading.Thread(target=each) for each in (change, search)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join(60)

    def fork_while_locked(self, number: int) -> None:
        """Fork while another thread holds every lock that a child makes anew."""
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with contextlib.ExitStack() as stack:
                for lock in [owner._lock for owner in list(forks._owners) if hasattr(owner, "_lock")]:
                    stack.enter_context(lock)
                held.set()
                done.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        if not held.wait(60):
            self.problems.append("the locks were not held")
        self.fork(number)
        done.set()
        thread.join(60)

    def run_process(self, number: int) -> None:
        """Do the same in a process of multiprocessing, which ends as the interpreter does."""
        word = f"quokka{number}zebra"
        self.words.append(word)
        context = multiprocessing.get_context("fork")
        answers: Any = context.SimpleQueue()
        process = context.Process(target=lambda: answers.put(self.work(word)))
        process.start()
        process.join(CHILD_SECONDS)
        if process.exitcode != 0:
            self.problems.append(f"the process of multiprocessing ended with {process.exitcode}")
            process.kill()
        else:
            self.problems += answers.get()

    def exit_normally(self, number: int) -> None:
        """Fork a child that ends as a script does, with the parent's connections still open in it."""
        pid = os.fork()
        if pid == 0:
            faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True)
            self.slot.call_tool("memory_search", {"query": "lantern"})
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.exit(0)
        self.children[pid] = number
        self.wait_for_one()

    def check(self) -> None:
        """The parent goes on, and nothing is lost or damaged."""
        self.problems += [f"parent: {problem}" for problem in self.work("parentword")]
        for word in self.words:
            answer = self.slot.call_tool("memory_search", {"query": word, "minScore": 0, "maxResults": 100})
            if not any(word in hit["snippet"] for hit in answer["results"]):
                self.problems.append(f"not found afterwards: {word}")
        kept = [item.content for item in self.items.export()]
        words = [word for at, word in enumerate(self.words) if at % 10 == 1]
        self.problems += [f"lost item: {word}" for word in words if not any(word in text for text in kept)]
        for index in (self.folder / "state" / "memory-core").glob("*.sqlite"):
            with contextlib.closing(sqlite.open_reader(index)) as connection:
                if (state := connection.pragma("integrity_check")) != "ok":
                    self.problems.append(f"integrity check: {state}")
        self.problems += [f"damaged: {path}" for path in self.folder.rglob("*.damaged*")]
        text = "".join(path.read_text() for path in self.notes.glob("20*.md"))
        self.problems += [f"lost note: {word}" for word in self.words if text.count(word) != 1]
        self.problems += [*self.slot.close(), *self.memory.close()]


def main() -> None:
    """Fork while memory is being loaded, while it works, and while its locks are held."""
    folder, count, config = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork beside threads
    (folder / "ws" / "memory").mkdir(parents=True)
    parent = Parent(folder, config)
    began = time.monotonic()
    if "warm" in sys.argv:
        parent.problems += parent.work("firstword", items=True)
    parent.slot.start()
    parent.memory.start()
    numbers: Iterator[int] = iter(range(10_000))
    with parent.working():
        steps: list[Callable[[int], None]] = [parent.fork] * (count - 3)
        steps += [parent.fork_while_locked, parent.run_process, parent.exit_normally]
        for step in steps:
            step(next(numbers))
            time.sleep(random.uniform(0, 0.05))
        while parent.children:
            parent.wait_for_one()
    parent.check()
    print(json.dumps({"problems": parent.problems, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
