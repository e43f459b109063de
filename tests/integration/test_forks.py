"""Memory in processes that were forked from one that uses it: each works or says why not, and neither harms the other."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import memory_core
from memory_core.embeddings import static
from memory_core.errors import StoreError
from memory_core.plugin import MemorySlot
from memory_core.stores.sqlite.connections import INDEX, open_reader
from memory_core.stores.sqlite.database import Database

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

IDLE = {"watch": False, "onSearch": False, "onSessionStart": False}  # nothing runs in the background
CONFIG: dict[str, Any] = {"memorySearch": {"provider": "none", "sync": IDLE}}
ENDLESS = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT max(n) FROM n"
CHILD_SECONDS = 60.0  # a child that hangs writes where it stands, and ends


def run_forked(work: Callable[[], Any]) -> Any:
    """Return what some work returns in a forked child."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True)
            os.write(writer, json.dumps(work()).encode())
        except BaseException:  # noqa: BLE001 -- the parent fails for want of an answer
            traceback.print_exc()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def make_slot(folder: Path, **sync: Any) -> MemorySlot:
    notes = folder / "ws" / "memory"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "lantern.md").write_text("# Cellar\n\nThe lantern stands in room 7.\n")
    places: dict[str, Any] = {"workspace": folder / "ws", "state_dir": folder / "state"}
    with memory_core.open_memory(CONFIG, **places) as memory:
        memory.sync()
    return MemorySlot({"memorySearch": {"provider": "none", "sync": IDLE | sync}}, **places)


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[MemorySlot]:
    with make_slot(tmp_path) as made:
        yield made


def search(tools: Any, word: str) -> dict[str, Any]:
    found: dict[str, Any] = tools.call_tool("memory_search", {"query": word, "minScore": 0})
    return found


def finds(tools: Any, word: str) -> bool:
    return any(word in hit["snippet"] for hit in search(tools, word).get("results", ()))


def test_the_child_of_an_idle_process_opens_everything_anew(slot: MemorySlot, tmp_path: Path) -> None:
    """Both write, and both find what the other has written."""
    memory = memory_core.open_memory(CONFIG, workspace=tmp_path / "ws", state_dir=tmp_path / "state")
    memory.items.write("The key hangs beside the door.")
    assert finds(slot, "lantern")
    assert finds(memory, "lantern")
    items = memory.items

    def work(word: str) -> list[Any]:
        appended = slot.call_tool("memory_append", {"text": f"The {word} was seen."})["status"]
        memory.sync()
        items.write(f"The {word} is green.")
        return [appended, finds(slot, word), finds(memory, "lantern"), list(slot.close()), list(memory.close())]

    words = ["quokka", "zebra", "okapi"]
    for word in words:
        assert run_forked(lambda word=word: work(word)) == ["appended", True, True, [], []]  # type: ignore[misc]
    memory.sync()
    assert all(finds(slot, word) for word in words)
    written = {"The key hangs beside the door.", *(f"The {word} is green." for word in words)}
    assert {item.content for item in items.export()} == written
    memory.close()
    for path in (tmp_path / "state").rglob("*.sqlite"):
        with contextlib.closing(open_reader(path)) as connection:
            assert connection.pragma("integrity_check") == "ok"


@pytest.mark.parametrize("running", [False, True])
def test_the_child_of_a_process_that_uses_a_file_says_so(slot: MemorySlot, tmp_path: Path, running: bool) -> None:
    """It does not wait for locks that a thread of the parent held, and the parent goes on."""
    assert finds(slot, "lantern")
    [index] = [path for path in (tmp_path / "state").rglob("main-*.sqlite") if path.name.count(".") == 1]
    begun, interrupted = threading.Event(), threading.Event()
    with contextlib.closing(open_reader(index)) as connection:

        def use() -> None:
            begun.set()
            try:
                connection.execute(ENDLESS).fetchall()
            except apsw.InterruptError:
                interrupted.set()

        thread = threading.Thread(target=use)
        if running:
            thread.start()
            assert begun.wait(CHILD_SECONDS)
        answer = run_forked(lambda: search(slot, "lantern"))
        if running:
            while not interrupted.wait(0.05):
                connection.interrupt()
            thread.join(CHILD_SECONDS)
    assert answer["unavailable"], answer
    assert "forked while its parent used memory" in answer["error"]
    assert "spawn" in answer["action"]
    assert finds(slot, "lantern")


def test_the_children_of_a_process_that_works_never_hang(tmp_path: Path) -> None:
    """Its watcher, its syncs and its searches are under way at every fork: a child searches, or says that it cannot."""
    ended = threading.Event()
    with make_slot(tmp_path, watch=True, onSearch=True, watchDebounceMs=10) as slot:

        def change() -> None:
            number = 0
            while not ended.wait(0.01):
                number += 1
                note = tmp_path / "ws" / "memory" / f"n{number % 20}.md"
                note.write_text(f"# Note {number}\n\nThe ladder stands in room {number}.\n")
                finds(slot, "ladder")

        thread = threading.Thread(target=change)
        thread.start()
        try:
            answers = [run_forked(lambda: search(slot, "lantern")) for _ in range(12)]
        finally:
            ended.set()
            thread.join(CHILD_SECONDS)
        assert finds(slot, "lantern")
    for answer in answers:
        assert "lantern" in str(answer.get("results")) or "forked while" in answer["error"], answer
    assert not [*tmp_path.rglob("*.damaged*")]


def test_a_child_meets_no_lock_that_a_thread_of_its_parent_held(slot: MemorySlot) -> None:
    assert finds(slot, "lantern")
    begun, finish = threading.Event(), threading.Event()
    memory = slot._memory("main")

    def hold() -> None:
        with slot._lock, memory._lock, memory._shown._lock:
            begun.set()
            finish.wait(CHILD_SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    assert begun.wait(CHILD_SECONDS)
    try:
        assert run_forked(lambda: [finds(slot, "lantern"), list(slot.close())]) == [True, []]
    finally:
        finish.set()
        thread.join(CHILD_SECONDS)
    assert finds(slot, "lantern")


def test_a_child_loads_the_static_model_while_its_parent_does() -> None:
    def load() -> int:
        return int(static.StaticProvider().embed_query("lantern").shape[0])

    def fork_while_it_loads() -> Any:
        faulthandler.cancel_dump_traceback_later()  # whose lock a child would wait for
        thread = threading.Thread(target=load)
        thread.start()
        while thread.is_alive() and static._loading.acquire(blocking=False):
            static._loading.release()
        return run_forked(load)

    assert run_forked(fork_while_it_loads) == static.DIMENSIONS


def test_a_connection_that_is_used_at_the_fork_is_refused_in_the_child(tmp_path: Path) -> None:
    pool = Database(tmp_path / "notes.sqlite", INDEX, ["CREATE TABLE notes (text)"])

    def work() -> str | None:
        try:
            with pool.read():
                return None
        except StoreError as error:
            pool.close()  # closes nothing of the parent
            return error.action

    with pool.maintain() as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO notes VALUES ('a')")
        assert "spawn" in run_forked(work)
        connection.execute("COMMIT")
    with pool.read() as connection:
        assert connection.execute("SELECT text FROM notes").fetchall() == [("a",)]
    assert run_forked(work) is None
    pool.close()
