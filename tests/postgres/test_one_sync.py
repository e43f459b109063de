"""Transactions of one sync on a real server: how many they are, and what one that takes long holds up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memory_core.backends.postgres import PostgresBackend
from memory_core.config.settings import SearchSettings, SyncSettings
from memory_core.errors import StoreReadOnly, SyncBusy
from memory_core.records import Query
from memory_core.stores.postgres.connections import READ, TimedConnection
from memory_core.stores.postgres.tenants import LEASE_SECONDS
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, make_database

LEASE = 2  # transactions that take the lease and end it
MOST_WRITES = 3  # one puts the text, one its embeddings, and one ends the sync


class Host:
    """A host of the agent ada, with eleven notes."""

    def __init__(self, folder: Path) -> None:
        self.database: Database = make_database()
        self.dsn = self.database.add_role("ada", writes=("ada",))
        self.folder = folder
        self.backend = self.open()
        self.note = folder / "ada/notes/MEMORY.md"
        self.note.write_text("# Heating\n\nThe heat pump was made by Vaillant.\n")
        (folder / "ada/notes/memory").mkdir()
        for number in range(10):
            (folder / f"ada/notes/memory/{number}.md").write_text(f"# Room {number}\n\nIts door has colour {number}.\n")
        self.backend.memory_sync(False, None)

    def open(self, **settings: Any) -> PostgresBackend:
        return open_agent(self.folder, "ada", self.dsn, self.database.schema, **settings)

    def drop_notes(self) -> None:
        for note in self.note.parent.rglob("*.md"):
            note.unlink()

    def ask(self, query: str) -> object:
        with psycopg.connect(self.database.admin_dsn) as admin:
            admin.execute(f'SET search_path = "{self.database.schema}"'.encode())
            row = admin.execute(query.encode()).fetchone()
        return row and row[0]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    yield made
    made.backend.memory_close()


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that have begun a transaction."""
    found: list[str] = []
    execute = TimedConnection.execute

    def record(self: TimedConnection, query: Any, *args: Any, **options: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else query
        if text.startswith("BEGIN"):
            found.append(text)
        return execute(self, query, *args, **options)

    monkeypatch.setattr(TimedConnection, "execute", record)
    return found


def test_a_sync_of_one_changed_note_reads_once_and_writes_three_times(host: Host, begun: list[str]) -> None:
    host.note.write_text("# Heating\n\nThe heat pump was made by Viessmann.\n")
    report = host.backend.memory_sync(False, None)
    assert (report.changed, report.embedded, report.pending) == (1, 1, 0)
    assert begun.count(READ) == 1
    assert len(begun) <= LEASE + 1 + MOST_WRITES

    begun.clear()
    assert host.backend.memory_sync(False, None).changed == 0
    assert len(begun) == LEASE + 1  # nothing has changed, so nothing is written but the lease


def test_a_search_reads_twice(host: Host, begun: list[str]) -> None:
    backend = host.open(search=SearchSettings(sync=SyncSettings(on_search=False)))
    try:
        assert backend.memory_search(Query(text="Who made the heat pump?")).hits
    finally:
        backend.memory_close()
    assert len(begun) <= 2
    assert {*begun} == {READ}


def test_a_write_holds_up_other_writers_and_no_reader(host: Host) -> None:
    """However long it takes, its lease begins anew when it is committed."""
    host.note.write_text("The gate is green.\n")
    other = host.open(statement_timeout_ms=300)
    try:
        with host.backend._server.lock():
            with host.backend._server.write() as writer:
                writer.drop_files([row.id for row in writer.list_files()])
                assert not writer.count_chunks()
                assert other.memory_search(Query(text="Who made the heat pump?")).hits
                with pytest.raises(SyncBusy), other._server.lock():  # at once, not after the timeout of a statement
                    pass
                writer.db.execute("SELECT pg_sleep(1.5)")
            assert host.ask(f"SELECT lease_until > now() + interval '{LEASE_SECONDS - 1} seconds' FROM tenants")
            with other._server.read() as reader:
                assert not reader.count_chunks()
    finally:
        other.memory_close()


def test_what_a_writer_has_done_is_there_as_a_whole_or_not_at_all(host: Host) -> None:
    store = host.backend._server
    with store.read() as reader:
        before = reader.load_state()

    def fail() -> None:
        with store.write() as writer:
            writer.drop_files([row.id for row in writer.list_files()])
            writer.save_state(identity="another", outage="{}")
            assert writer.load_state().generation != before.generation
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.read() as reader:
        assert (reader.load_state(), reader.count_chunks()) == (before, 11)


def test_values_that_hold_until_content_changes_are_forgotten_then(host: Host) -> None:
    store = host.backend._server
    with store.write() as writer:
        writer.save_state(complete=7, tidy=True, destinations=["x"], target="unknown", pending_reason="so")
        state = writer.load_state()
    with store.read() as reader:
        assert reader.load_state() == state
        assert (state.complete, state.tidy, state.target) == (7, True, "unknown")
        file = reader.find_file("memory", "MEMORY.md")
    assert file is not None
    with store.write() as writer:
        writer.touch_file(file.id, file.stamp)  # no content
        assert writer.load_state() == state
        writer.drop_files([file.id])
        late = writer.load_state()
    assert (late.complete, late.tidy) == (None, False)
    assert (late.pending_reason, *late.destinations) == ("so", "x")
    with store.read() as reader:
        assert reader.load_state() == late


def test_a_tenant_without_notes_keeps_no_words_of_them(host: Host) -> None:
    host.note.write_text("Die Häuser sind grün.\n")
    host.backend.memory_sync(False, None)
    assert host.ask("SELECT count(*) > 0 FROM word_forms")
    host.drop_notes()
    assert host.backend.memory_sync(False, None).removed == 11
    assert host.ask("SELECT count(*) FROM word_forms") == 0
    assert host.ask("SELECT chunks + words FROM tenants") == 0


def test_a_rebuild_cuts_all_again_and_embeds_nothing_twice(host: Host) -> None:
    before = host.ask("SELECT max(id) FROM chunks")
    report = host.backend.memory_sync(True, None)
    assert (report.reindexed, report.embedded, report.pending) == (True, 0, 0)
    assert host.ask("SELECT min(id) FROM chunks") > before  # type: ignore[operator]
    assert host.ask("SELECT count(*) FROM chunks") == host.ask("SELECT chunks FROM tenants") == 11


def test_a_role_that_may_only_read_is_told_what_it_lacks(host: Host) -> None:
    dsn = host.database.add_role("eve", reads=("ada",))
    backend = open_agent(host.folder, "eve", dsn, host.database.schema, tenant="ada")
    try:
        with pytest.raises(StoreReadOnly, match="only read") as caught, backend._server.lock():
            pass
        with pytest.raises(StoreReadOnly, match="only read"), backend._server.write():
            pass
        assert "postgres grant" in caught.value.action
    finally:
        backend.memory_close()


def test_the_notes_of_another_workspace_are_not_dropped(host: Host) -> None:
    elsewhere = host.folder / "elsewhere"
    backend = host.open(workspace=elsewhere)
    try:
        (elsewhere / "MEMORY.md").write_text("The gate is green.\n")
        with pytest.raises(StoreReadOnly, match="it holds the notes of"):
            backend.memory_sync(False, None)
        assert host.ask("SELECT workspace FROM tenants") == str(host.note.parent)
        host.drop_notes()
        host.backend.memory_sync(False, None)
        assert backend.memory_sync(False, None).added == 1  # nothing would be dropped
    finally:
        backend.memory_close()
