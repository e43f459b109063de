"""What a connection shows of its DSN, and which errors of a server are an outage."""

from __future__ import annotations

import traceback

import pytest

from memory_core.config.fields import Secret
from memory_core.errors import BackendUnavailable, MemoryCoreError
from memory_core.postgres.store.connections import READ, Connections
from memory_core.postgres.store.dsn import redact
from tests.servers.postgres import make_database


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


def test_passwords_of_uris_in_messages_are_redacted() -> None:
    dsn = "postgresql://ada:hunter%402@localhost/x"
    assert redact("hunter@2 or hunter%402 is wrong", dsn) == "*** or *** is wrong"
    assert redact("bad postgresql://eve:a@b@host/x", dsn) == "bad postgresql://eve:***@host/x"


def test_a_statement_that_the_server_cancels_is_no_outage() -> None:
    connections = Connections(Secret(make_database().admin_dsn), schema="public", limit_seconds=0.5, most=1)
    with pytest.raises(MemoryCoreError, match="a statement took longer"), connections.transaction(READ) as cursor:
        cursor.execute("SELECT pg_sleep(30)")
    with connections.transaction(READ) as cursor:
        assert cursor.execute("SELECT 1").fetchone() == (1,)
    connections.close()
