"""One search of a running memory: how many transactions it makes, and through how many calls it gets to the index."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import memory_core
from memory_core import open_memory
from tests.waiting import eventually

MOST_TRANSACTIONS = 2  # one reads the state of the index, the other one searches; the question is embedded between them
MOST_FRAMES = 10  # of our own code; three of pluggy and one of contextlib for each `with` come on top

_OURS = str(Path(memory_core.__file__).parent)


class Statements:
    """The statements of one thread, each with the number of frames of our own code above it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []
        self._thread = threading.get_ident()

    def watch(self, connection: apsw.Connection) -> None:
        connection.exec_trace = self._record

    def _record(self, _cursor: apsw.Cursor, statement: str, _bindings: apsw.Bindings | None) -> bool:
        if threading.get_ident() == self._thread:
            above = inspect.stack(context=0)[1:]
            frames = sum(each.filename.startswith(_OURS) for each in above)
            self.seen.append((statement, frames))
        return True


@pytest.fixture
def statements() -> Iterator[Statements]:
    made = Statements()
    apsw.connection_hooks.append(made.watch)
    yield made
    apsw.connection_hooks.remove(made.watch)


def test_a_search_reads_the_state_of_the_index_and_then_searches(tmp_path: Path, statements: Statements) -> None:
    (tmp_path / "MEMORY.md").write_text("# Heating\n\nThe heat pump was made by Vaillant.\n")

    with open_memory(workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        memory.start()

        def search() -> list[tuple[str, int]]:
            statements.seen.clear()
            found = memory.call_tool("memory_search", {"query": "who made the heat pump"})
            assert found["results"]
            return list(statements.seen)

        def begins() -> int:
            return sum(statement == "BEGIN" for statement, _ in search())

        assert eventually(lambda: begins() <= MOST_TRANSACTIONS)  # once a sync has confirmed that nothing has changed
        assert search()[0][1] <= MOST_FRAMES
