"""Leases on a tenant: who waits for whom, and which are left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_core.errors import BackendUnavailable, MemoryCoreError, SyncBusy
from memory_core.stores.postgres import tenants
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, RealServer, make_database


@pytest.fixture
def server() -> Iterator[RealServer]:
    """A server of one test, which may be killed."""
    made = RealServer()
    yield made
    made.stop()


def hold(database: Database, holder: str) -> None:
    """Let somebody hold the lease on the only tenant."""
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(
            f'UPDATE "{database.schema}".tenants SET lease = lease + 1, lease_holder = %s,'
            " lease_until = now() + interval '1 hour'".encode(),
            (holder,),
        )


def end_process() -> int:
    """Return the id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_a_lease_whose_end_the_server_never_heard_of_holds_nobody_up(tmp_path: Path, server: RealServer) -> None:
    """The server dies while a sync writes: the sync cannot give its lease back, and the next one does not wait for its end."""
    dsn = (database := make_database(server)).add_role("ada", writes=("ada",))
    backend = open_agent(tmp_path, "ada", dsn, database.schema)
    note = tmp_path / "ada/notes/MEMORY.md"
    note.write_text("The gate is green.\n")
    backend.memory_sync(False, None)
    note.write_text("The gate is brown.\n")

    def kill(*_: object) -> None:
        server.kill()

    with pytest.raises(MemoryCoreError):
        backend.memory_sync(False, kill)
    backend.memory_close()
    server.start()
    other = open_agent(tmp_path, "ada", dsn, database.schema)
    try:
        assert other.memory_sync(False, None).failures == ()
    finally:
        other.memory_close()


@pytest.mark.parametrize("whose", ["a living process here", "a process elsewhere", "an earlier version"])
def test_a_lease_of_somebody_else_is_waited_for(whose: str, tmp_path: Path) -> None:
    machine, parent = tenants.name_machine(), os.getppid()
    holders = {
        "a living process here": f"{machine}:{parent}:00000000",
        "a process elsewhere": f"elsewhere:{end_process()}:00000000",
        "an earlier version": f"{machine}:{end_process()}",
    }
    database = make_database()
    backend = open_agent(tmp_path, "ada", database.add_role("ada", writes=("ada",)), database.schema)
    try:
        hold(database, holders[whose])
        with pytest.raises(SyncBusy), backend._server.lock():
            pass
    finally:
        backend.memory_close()


def test_the_lease_of_a_process_that_has_ended_is_taken_at_once(tmp_path: Path) -> None:
    database = make_database()
    backend = open_agent(tmp_path, "ada", database.add_role("ada", writes=("ada",)), database.schema)
    try:
        hold(database, f"{tenants.name_machine()}:{end_process()}:00000000")
        assert backend.memory_sync(False, None).failures == ()
    finally:
        backend.memory_close()


def test_no_process_is_asked_where_that_would_interrupt_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows the number 0 is that of Ctrl-C."""
    holder = f"{tenants.name_machine()}:{end_process()}:00000000"
    assert tenants.has_ended(holder)
    monkeypatch.setattr(os, "name", "nt")
    assert not tenants.has_ended(holder)


def test_two_syncs_of_one_process_wait_for_each_other(tmp_path: Path) -> None:
    database = make_database()
    dsn = database.add_role("ada", writes=("ada",))
    one, other = (open_agent(tmp_path, "ada", dsn, database.schema) for _ in range(2))
    try:
        with one._server.lock(), pytest.raises(SyncBusy), other._server.lock():
            pass
        with other._server.lock():
            pass
    finally:
        one.memory_close()
        other.memory_close()


def test_a_lease_that_could_not_be_taken_is_not_held(tmp_path: Path, server: RealServer) -> None:
    database = make_database(server)
    backend = open_agent(tmp_path, "ada", database.add_role("ada", writes=("ada",)), database.schema)
    server.kill()
    with pytest.raises(BackendUnavailable), backend._server.lock():
        pass
    backend.memory_close()
    assert not tenants.held_here
