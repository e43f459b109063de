"""What a connection shows of its DSN, and which errors of a server are an outage."""

from __future__ import annotations

import threading
import traceback
from pathlib import Path

import psycopg
import pytest

from memory_core.config.fields import Secret
from memory_core.errors import BackendUnavailable, MemoryCoreError, StoreError
from memory_core.stores.postgres import connections as connections_module
from memory_core.stores.postgres.connections import READ, WRITE, Connections, check_dsn, redact
from memory_core.threads import Backoff
from tests.servers.postgres import RealServer, make_database
from tests.waiting import eventually


def connect(dsn: str) -> Connections:
    return Connections(Secret(dsn), schema="none", limit_seconds=1.0, most=1)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ada:p@hunter2@localhost/x",
        "postgresql://ada:p@hunter2@localhost/x?sslmode=disable",
        "postgresql://ada:hunter2",
        "postgresql://ada:hunter2@localhost:hunter3/x",
        "postgresql://ada:hunter#2/@localhost/x",
        "postgresql://ada:hunter#2@localhost/x",
        "postgresql://ada:hunter%zz2@localhost/x",
        "postgresql://ada:hunter2@127.0.0.1:1/x",
        "host=127.0.0.1 port=1 password=hunter2",
        "host=127.0.0.1 password=hunter2 x",
        "hunter2",
    ],
)
def test_no_part_of_a_password_is_shown(dsn: str) -> None:
    with pytest.raises(BackendUnavailable) as caught, connect(dsn).transaction(READ):
        pass
    error = caught.value
    shown = "".join(traceback.TracebackException.from_exception(error).format(chain=True))
    assert "hunter" not in f"{error} {error.action}"
    assert "hunter" not in "\n".join(line for line in shown.split("\n") if not line.startswith("    "))
    assert error.__suppress_context__ or error.__context__ is None


def test_a_second_at_sign_is_told_how_to_write() -> None:
    connections = connect("postgresql://ada:p@hunter2@localhost/x")
    with pytest.raises(BackendUnavailable, match="more than one @") as caught, connections.transaction(READ):
        pass
    assert "%40" in caught.value.action


@pytest.mark.parametrize(
    ("dsn", "told", "action"),
    [
        ("mysql://ada:hunter2@localhost/x", "does not begin with postgresql://", "write postgresql://"),
        ("postgresql://localhost/x?frob=1", 'invalid URI query parameter: "frob"', "write postgresql://"),
        ("postgresql://ada:a/b?hun=ter2@localhost/x", "the DSN cannot be read", "%40"),
        ("postgresql://localhost/x\npostgresql://localhost/y", "more than one line", "one line"),
        ("DSN=postgresql://ada:hunter2@localhost/x", "begins with the name of a variable", "write postgresql://"),
    ],
)
def test_a_mistake_in_a_dsn_is_told_apart(dsn: str, told: str, action: str) -> None:
    with pytest.raises(BackendUnavailable) as caught, connect(dsn).transaction(READ):
        pass
    assert (told in str(caught.value), action in caught.value.action) == (True, True)
    assert "hun" not in f"{caught.value}{caught.value.action}"


def test_who_cannot_connect_is_told_where_the_dsn_is(tmp_path: Path) -> None:
    database, file = make_database(), tmp_path / "dsn"
    file.write_text(database.admin_dsn.replace(f"/{database.name}", "/nowhere"))
    connections = Connections(Secret(f"file:{file}"), schema="none", limit_seconds=9.0, most=1)
    with pytest.raises(BackendUnavailable, match='database "nowhere" does not exist') as caught:
        connections.transaction(READ).__enter__()
    assert (
        caught.value.action
        == f"make it: createdb nowhere; or correct the DSN, that of memory.postgres.dsn (file:{file})"
    )
    file.write_text(database.server.dsn(database.name, "nobody"))
    again = Connections(Secret(f"file:{file}"), schema="none", limit_seconds=9.0, most=1)
    with pytest.raises(BackendUnavailable, match="nobody") as caught:
        again.transaction(READ).__enter__()
    assert caught.value.action == f"check the server and the DSN, that of memory.postgres.dsn (file:{file})"


def test_passwords_of_uris_in_messages_are_redacted() -> None:
    dsn = "postgresql://ada:hunter%402@localhost/x"
    assert redact("hunter@2 or hunter%402 is wrong", dsn) == "*** or *** is wrong"
    assert redact("bad postgresql://eve:a@b@host/x", dsn) == "bad postgresql://eve:***@host/x"


def test_a_statement_that_the_server_cancels_is_no_outage() -> None:
    connections = Connections(Secret(make_database().admin_dsn), schema="public", limit_seconds=5.0, most=1)
    with pytest.raises(MemoryCoreError, match="a statement took longer"), connections.transaction(READ) as cursor:
        cursor.execute("SELECT pg_sleep(30)")
    with connections.transaction(READ) as cursor:
        assert cursor.execute("SELECT 1").fetchone() == (1,)
    connections.close()


def test_a_server_that_hangs_after_an_outage_is_waited_for_by_a_thread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections_module, "PAUSE", Backoff(first_seconds=0.0, longest_seconds=0.0))
    server = RealServer()
    dsn = make_database(server).admin_dsn
    connections = Connections(Secret(dsn), schema="public", limit_seconds=600.0, most=1)
    ask(connections)
    server.kill()
    with pytest.raises(BackendUnavailable):
        ask(connections)
    server.start()
    with server.suspended():
        for _ in range(3):
            with pytest.raises(BackendUnavailable):  # at once, not after the 600 seconds
                ask(connections)
        trials = [thread for thread in threading.enumerate() if thread.name == "memory-postgres-trial"]
        assert len(trials) == 1

    def answers() -> bool:
        try:
            return ask(connections) == (1,)
        except BackendUnavailable:
            return False

    assert eventually(answers)
    connections.close()
    server.stop()


def ask(connections: Connections) -> object:
    with connections.transaction(READ) as cursor:
        return cursor.execute("SELECT 1").fetchone()


def test_a_push_that_falls_asleep_lets_go_of_its_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its transaction is ended by the server, so that others go on, and nothing of it is there."""
    monkeypatch.setattr(connections_module, "WRITE", WRITE.replace("10s", "50ms"))
    dsn = make_database().admin_dsn
    connections = Connections(Secret(dsn), schema="public", limit_seconds=20.0, most=2)
    with connections.transaction(WRITE) as cursor:
        cursor.execute("CREATE TABLE counters (n int)")
    with pytest.raises(StoreError, match="idle-in-transaction"):
        fall_asleep(connections, dsn)
    with connections.transaction(READ) as cursor:
        assert cursor.execute("SELECT count(*) FROM counters").fetchone() == (0,)
    connections.close()


def test_a_push_that_falls_asleep_amid_a_message_lets_go_of_its_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server waits for the rest and calls that active: neither its bound for idle ones nor that of statements ends it."""
    monkeypatch.setattr(connections_module, "_HELD_SECONDS", 1)
    dsn = make_database().admin_dsn
    connections, late = (Connections(Secret(dsn), schema="public", limit_seconds=20.0, most=1) for _ in range(2))
    try:
        with connections.transaction(WRITE) as cursor:
            cursor.execute("CREATE TABLE counters (n int)")
        with pytest.raises(MemoryCoreError):
            send_a_part(late, dsn)
        with connections.transaction(WRITE) as cursor:
            connections_module.renew(cursor)
            assert cursor.execute("SELECT count(*) FROM counters").fetchone() == (0,)
            assert cursor.execute("SHOW transaction_timeout").fetchone() == ("1s",)
    finally:
        connections.close()
        late.close()


def send_a_part(connections: Connections, dsn: str) -> None:
    """Change a table, tell the server that more comes, and wait until somebody else has its lock."""
    with connections.transaction(WRITE) as cursor, cursor.connection.pipeline():
        cursor.execute("INSERT INTO counters VALUES (1)")
        cursor.connection.pgconn.send_flush_request()
        cursor.connection.pgconn.flush()
        with psycopg.connect(dsn) as other:
            held = "SELECT 1 FROM pg_locks WHERE relation = 'counters'::regclass"
            assert eventually(lambda: other.execute(held).fetchone() is not None)  # the server has read the part
            other.execute("LOCK TABLE counters")  # waits until the server has ended the first transaction


def fall_asleep(connections: Connections, dsn: str) -> None:
    with connections.transaction(connections_module.WRITE) as late:
        late.execute("INSERT INTO counters VALUES (1)")
        with psycopg.connect(dsn) as other:
            other.execute("LOCK TABLE counters")  # waits until the server has ended the first transaction
        late.execute("INSERT INTO counters VALUES (2)")


def test_a_read_outlives_a_restart_of_the_server() -> None:
    server = RealServer()
    connections = Connections(Secret(make_database(server).admin_dsn), schema="public", limit_seconds=60.0, most=2)
    try:
        assert ask(connections) == (1,)
        server.kill()
        server.start()
        assert ask(connections) == (1,)
        with pytest.raises(MemoryCoreError, match="nowhere"), connections.transaction(READ) as cursor:
            cursor.execute("SELECT * FROM nowhere")
        assert ask(connections) == (1,)
    finally:
        connections.close()
        server.stop()


@pytest.mark.parametrize(
    "dsn",
    [
        "host=postgres user=ada dbname=notes",
        "user=postgres host=localhost",
        "dbname='postgres' host=localhost",
        "host=localhost\nuser=ada\ndbname=notes\n",
        "postgresql://ada@localhost/notes\n",
    ],
)
def test_what_the_driver_reads_is_taken(dsn: str) -> None:
    check_dsn(dsn)
