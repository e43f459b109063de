"""One sync of one changed note: how many transactions it makes on the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memory_core import open_memory

MOST_TRANSACTIONS = 4  # one reads; one puts the text, one its embeddings, and one ends the sync


@pytest.fixture
def begun() -> Iterator[list[str]]:
    """The statements that have begun a transaction on the index."""
    found: list[str] = []

    def watch(connection: apsw.Connection) -> None:
        if not connection.filename or connection.filename.endswith(
            ".history.sqlite"
        ):  # the history has a file of its own
            return

        def record(_cursor: apsw.Cursor, statement: str, _bindings: apsw.Bindings | None) -> bool:
            if statement.startswith("BEGIN"):
                found.append(statement)
            return True

        connection.exec_trace = record

    apsw.connection_hooks.append(watch)
    yield found
    apsw.connection_hooks.remove(watch)


def test_a_sync_of_one_changed_note_reads_once_and_writes_three_times(tmp_path: Path, begun: list[str]) -> None:
    note = tmp_path / "MEMORY.md"
    for number in range(30):
        (tmp_path / f"memory/{number}.md").parent.mkdir(exist_ok=True)
        (tmp_path / f"memory/{number}.md").write_text(f"# Room {number}\n\nIts door is painted in colour {number}.\n")
    note.write_text("# Heating\n\nThe heat pump was made by Vaillant.\n")
    with open_memory(workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        memory.sync()
        note.write_text("# Heating\n\nThe heat pump was made by Viessmann.\n")
        begun.clear()
        report = memory.sync()
        assert (report.changed, report.embedded, report.pending) == (1, 1, 0)
        print("BEGUN", len(begun), begun)
        assert len(begun) <= MOST_TRANSACTIONS
        assert begun.count("BEGIN") == 1

        begun.clear()
        assert memory.sync().changed == 0
        assert begun == ["BEGIN"]  # nothing has changed, so nothing is written
