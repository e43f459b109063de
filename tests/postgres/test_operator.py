"""The operator's commands: whom they refuse, what outlives a role, and what they wait for."""

from __future__ import annotations

import secrets
from pathlib import Path

import psycopg
import pytest

from memory_core.config.fields import Secret
from memory_core.errors import BackendError, BackendUnavailable, InvalidArgument
from memory_core.stores.postgres import operator as operating
from memory_core.stores.postgres.migrations import VERSION
from tests.postgres.agents import open_agent
from tests.servers.postgres import find_server, make_database


@pytest.mark.parametrize("power", ["superuser", "bypassrls", "owner", "pg_execute_server_program"])
def test_members_of_powerful_roles_are_refused(power: str) -> None:
    database = make_database()
    boss, role = f"{database.name}_boss", f"{database.name}_mal"
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        if power in ("superuser", "bypassrls"):
            admin.execute(f'CREATE ROLE "{boss}" {power}'.encode())
        else:
            boss = f"{database.schema}_owner" if power == "owner" else power
        admin.execute(f'CREATE ROLE "{role}" LOGIN IN ROLE "{boss}"'.encode())
    operator = database.operator()
    with pytest.raises(InvalidArgument, match="sees every tenant"):
        operator.grant(role, "ada", write=False)
    operator.close()


def test_a_new_role_does_not_inherit_the_rights_of_its_name() -> None:
    database = make_database()
    dsn = database.add_role("eve", writes=("ada",))
    role = f"{database.name}_eve"
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(f'DROP ROLE "{role}"'.encode())
        admin.execute(f'CREATE ROLE "{role}" LOGIN IN ROLE "{database.schema}_agent"'.encode())
    with psycopg.connect(dsn, autocommit=True) as eve:
        assert eve.execute(f'SELECT "{database.schema}".readable()'.encode()).fetchone() == ([],)


def test_a_command_does_not_wait_for_ever_and_names_the_blocker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operating, "LOCK_SECONDS", 1)
    database = make_database()
    dsn = database.add_role("ada", writes=("ada",))
    operator = database.operator()
    with psycopg.connect(database.admin_dsn) as other:
        other.execute(f'SET search_path = "{database.schema}"'.encode())
        other.execute("LOCK TABLE notes IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(BackendError, match="waited 1 s for postgres"):
            operator.summarise()
    with psycopg.connect(dsn) as ada:
        ada.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"postgres:{database.schema}",))
        assert operator.init() == 0
    operator.close()


def test_a_role_without_the_rights_of_an_operator_is_told_what_it_lacks() -> None:
    database = make_database()
    dsn = database.add_role("ada", writes=("ada",))
    operator = operating.Operator(Secret(dsn), database.schema)
    with pytest.raises(BackendError, match="set role") as caught:
        operator.summarise()
    assert "the DSN of the role that ran init" in str(caught.value.action)
    operator.close()
    other = operating.Operator(Secret(dsn), "another")
    with pytest.raises(BackendError, match="create role") as caught:
        other.init()
    assert "CREATEROLE" in str(caught.value.action)
    other.close()


def test_an_operator_who_may_not_make_extensions_is_told_who_may() -> None:
    server = find_server()
    name = f"mc_plain_{secrets.token_hex(4)}"
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(f'CREATE ROLE "{name}" LOGIN CREATEROLE'.encode())
        admin.execute(f'CREATE DATABASE "{name}" OWNER "{name}"'.encode())
    operator = operating.Operator(Secret(server.dsn(name, name)), name)
    with pytest.raises(BackendError, match="extension") as caught:
        operator.init()
    assert "CREATE EXTENSION vector; CREATE EXTENSION btree_gin" in str(caught.value.action)
    with psycopg.connect(server.dsn(name), autocommit=True) as admin:
        for extension in operating.EXTENSIONS:
            admin.execute(f"CREATE EXTENSION {extension}".encode())
    assert operator.init() == VERSION
    assert operator.init() == 0
    operator.close()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_a_schema_of_an_older_version_says_so_until_it_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with monkeypatch.context() as older:
        older.setattr(operating, "VERSION", version)
        database = make_database()
    backend = open_agent(tmp_path, "ada", database.add_role("ada", writes=("ada",)), database.schema)
    (tmp_path / "ada/notes/MEMORY.md").write_text("The gate is green.\n")
    with pytest.raises(BackendUnavailable, match="not set up for this version") as caught:
        backend.memory_sync(False, None)
    assert "memory-core postgres init" in caught.value.action
    operator = database.operator()
    assert operator.init() == VERSION - version
    assert operator.init() == 0
    operator.close()
    assert backend.memory_sync(False, None).pending == 0
    backend.memory_close()


def test_an_agent_that_knows_of_no_deflated_texts_is_refused() -> None:
    """It reads `text`, which would be empty: its hits would have no snippets, and nobody would know why."""
    database = make_database()
    with psycopg.connect(database.add_role("ada", writes=("ada",))) as ada:
        ada.execute(f'SET search_path = "{database.schema}"'.encode())
        with pytest.raises(psycopg.errors.UndefinedColumn):
            ada.execute("SELECT c.text FROM chunks c")
