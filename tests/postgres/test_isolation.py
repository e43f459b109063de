"""Attacks of one agent on another by a client that has the first one's password: all see nothing, or are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from memory_core.backends.postgres import diagnose
from memory_core.config.fields import Secret
from memory_core.config.load import ConfigSource
from memory_core.errors import BackendRefused, BackendUnavailable, InvalidArgument
from memory_core.hookspecs import BackendContext
from memory_core.plugin.memory import Memory
from memory_core.records import Query
from memory_core.stores.postgres import PostgresConfig
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, make_database

PARTITIONED, PARTITIONS = ("notes", "chunks", "windows", "embeddings", "word_forms"), 16
TABLES = ("spaces", *PARTITIONED)


@dataclass
class Attack:
    """A connection of the role `ada`, and the ids of both tenants."""

    database: Database
    connection: psycopg.Connection[tuple[object, ...]]
    mine: int
    other: int

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]] | str:
        """Return the rows, or the name of the error with which the server refused."""
        try:
            cursor = self.connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]
        except psycopg.Error as error:
            return type(error).__name__


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    folder = tmp_path_factory.mktemp("hosts")
    database = make_database()
    dsns = {name: database.add_role(name, writes=(name,)) for name in ("ada", "bob")}
    for name, dsn in dsns.items():
        backend = open_agent(folder, name, dsn, database.schema)
        (folder / name / "notes/MEMORY.md").write_text(
            f"The safe of {name} opens with {name}-4711. Die Häuser sind grün.\n"
        )
        assert backend.memory_sync(False, None).added == 1
        backend.memory_close()
    with psycopg.connect(database.admin_dsn) as admin:
        ids: dict[str, int] = dict(
            admin.execute(f'SELECT name, id FROM "{database.schema}".tenants'.encode()).fetchall()
        )
    with psycopg.connect(dsns["ada"], autocommit=True) as connection:
        connection.execute(f'SET search_path = "{database.schema}"'.encode())
        yield Attack(database, connection, ids["ada"], ids["bob"])


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_another_tenant_do_not_exist(attack: Attack, table: str) -> None:
    assert attack.run(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", attack.other) == [(0,)]
    if table != "word_forms":
        assert attack.run(f"SELECT count(*) > 0 FROM {table}") == [(True,)]
    assert attack.run(f"DELETE FROM {table} WHERE tenant_id = %s", attack.other) == "InsufficientPrivilege"


@pytest.mark.parametrize("table", [*TABLES, "tenants", "members"])
def test_no_table_is_locked_against_others(attack: Attack, table: str) -> None:
    """ROW EXCLUSIVE, which every INSERT takes, holds nobody up but an operator who changes the table."""
    for mode in ("SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"):
        assert attack.run(f"BEGIN; LOCK TABLE {table} IN {mode} MODE NOWAIT") == "InsufficientPrivilege"
        attack.run("ROLLBACK")
    assert attack.run(f"TRUNCATE {table}") == "InsufficientPrivilege"


def test_no_row_of_another_tenant_is_deleted_by_functions(attack: Attack) -> None:
    calls = (
        "delete_chunks(%s, '{1,2,3}')",
        "delete_notes(%s, '{1,2,3}')",
        "delete_word_forms(%s)",
        "evict_embeddings(%s, 0)",
    )
    for call in calls:
        assert attack.run(f"SELECT {call}", attack.other) == "InsufficientPrivilege"
        assert attack.run(f"SELECT {call}", None) == "InsufficientPrivilege"
    assert attack.run("SELECT refuse_others(%s)", attack.mine) == "InsufficientPrivilege"
    with psycopg.connect(attack.database.admin_dsn) as admin:
        query = f'SELECT count(*) FROM "{attack.database.schema}".chunks'
        assert admin.execute(query.encode()).fetchone() == (2,)


@pytest.mark.parametrize("table", TABLES)
def test_no_row_is_moved_into_another_tenant(attack: Attack, table: str) -> None:
    moved = attack.run(f"UPDATE {table} SET tenant_id = %s WHERE tenant_id = %s", attack.other, attack.mine)
    assert moved in ("InsufficientPrivilege", "ForeignKeyViolation", [(0,)])
    assert attack.run(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", attack.other) == [(0,)]


def test_no_row_is_put_into_another_tenant(attack: Attack) -> None:
    refused = attack.run("INSERT INTO word_forms VALUES (%s, 'de', 'x', 'y')", attack.other)
    assert refused == "InsufficientPrivilege"
    refused = attack.run(
        "INSERT INTO embeddings (tenant_id, space_id, hash, v) VALUES (%s, 1, '', '[1]')", attack.other
    )
    assert refused == "InsufficientPrivilege"


@pytest.mark.parametrize("table", PARTITIONED)
def test_no_partition_is_reached_by_name(attack: Attack, table: str) -> None:
    for number in range(PARTITIONS):
        assert attack.run(f"SELECT * FROM {table}_{number}") == "InsufficientPrivilege"
        assert attack.run(f"COPY {table}_{number} TO STDOUT") == "InsufficientPrivilege"


def test_the_tenants_themselves_are_seen_by_their_members_alone(attack: Attack) -> None:
    assert attack.run("SELECT name FROM tenants") == [("ada",)]
    assert attack.run("UPDATE tenants SET generation = 7 WHERE id = %s", attack.other) == [(0,)]
    assert attack.run("UPDATE tenants SET name = 'bob'") == "InsufficientPrivilege"
    assert attack.run("SELECT * FROM members") == "InsufficientPrivilege"
    assert attack.run("INSERT INTO members VALUES (0, %s, true)", attack.other) == "InsufficientPrivilege"


@pytest.mark.parametrize("role", ["owner", "bob", "superuser"])
def test_no_other_role_is_taken(attack: Attack, role: str) -> None:
    schema = attack.database.schema
    name = {"owner": f"{schema}_owner", "bob": f"{schema}_bob", "superuser": "postgres"}[role]
    assert attack.run(f'SET ROLE "{name}"') == "InsufficientPrivilege"
    assert attack.run(f'SET SESSION AUTHORIZATION "{name}"') == "InsufficientPrivilege"


def test_no_setting_opens_anything(attack: Attack) -> None:
    assert attack.run("SET row_security = off") == [(-1,)]
    assert attack.run("SELECT * FROM notes") == "InsufficientPrivilege"  # instead of being filtered
    attack.run("SET row_security = on")
    assert attack.run("SELECT set_config('role', 'postgres', false)") == "InsufficientPrivilege"
    attack.run(f"SET memory_core.tenant = '{attack.other}'")
    assert attack.run("SELECT count(*) FROM notes WHERE tenant_id = %s", attack.other) == [(0,)]


def test_functions_look_at_the_callers_tenants_alone(attack: Attack) -> None:
    both = [attack.mine, attack.other]
    asked = "SELECT id FROM find_stems(%s, 'safe'::tsquery, '{safe,bob}', '{b}', NULL, NULL)"
    assert attack.run(asked, [attack.other]) == []
    assert attack.run("SELECT count_matches(%s, '{safe,bob}')", both) == [([1, 0],)]
    assert attack.run("SELECT count_prefix(%s, 'b', 'b:*')", both) == [(0,)]
    assert attack.run("SELECT readable(), writable()") == [([attack.mine], [attack.mine])]
    assert attack.run("SELECT count_matches(%s, ARRAY['x''); DROP TABLE notes; --'])", both) == "SyntaxError"


def test_nothing_is_made_or_shadowed_in_the_schema(attack: Attack) -> None:
    assert attack.run("CREATE TABLE mine (a int)") == "InsufficientPrivilege"
    assert attack.run("CREATE OR REPLACE FUNCTION readable() RETURNS int[] LANGUAGE sql AS 'SELECT ARRAY[1]'") in (
        "InsufficientPrivilege",
        "InvalidFunctionDefinition",
    )
    attack.run("CREATE TEMP TABLE members (role oid, tenant_id int, may_write bool)")  # stands before ours by its name
    attack.run(
        "INSERT INTO pg_temp.members SELECT oid, %s, true FROM pg_roles WHERE rolname = session_user", attack.other
    )
    assert attack.run("SELECT readable()") == [([attack.mine],)]
    attack.run("DROP TABLE pg_temp.members")


def test_statistics_and_files_of_the_server_tell_nothing(attack: Attack) -> None:
    shown = attack.run(
        "SELECT tablename, most_common_vals::text, histogram_bounds::text FROM pg_stats WHERE tablename LIKE 'chunks%'"
    )
    assert "bob" not in str(shown)
    assert attack.run("SELECT pg_read_file('PG_VERSION')") == "InsufficientPrivilege"
    assert attack.run("COPY notes TO '/tmp/notes'") == "InsufficientPrivilege"
    assert attack.run("COPY notes TO PROGRAM 'cat'") == "InsufficientPrivilege"
    assert "bob-4711" not in str(attack.run("SELECT query FROM pg_stat_activity"))


def test_an_embedding_of_another_tenant_is_not_known(attack: Attack) -> None:
    """A shared cache would tell, by its time or its answer, which text another tenant holds."""
    with psycopg.connect(attack.database.admin_dsn) as admin:
        query = f'SELECT hash FROM "{attack.database.schema}".embeddings WHERE tenant_id = %s'
        ((key,),) = admin.execute(query.encode(), (attack.other,)).fetchall()
    assert attack.run("SELECT count(*) FROM embeddings WHERE hash = %s", key) == [(0,)]


def test_a_tenant_of_which_a_role_is_no_member_is_refused(attack: Attack, tmp_path: Path) -> None:
    dsn = attack.database.server.dsn(attack.database.name, f"{attack.database.name}_ada")
    backend = open_agent(tmp_path, "bob", dsn, attack.database.schema)
    with pytest.raises(BackendUnavailable, match="no tenant 'bob'"):
        backend.memory_search(Query(text="safe"))
    backend.memory_close()


def test_agents_find_shared_notes_and_not_private_ones(attack: Attack, tmp_path: Path) -> None:
    database = attack.database
    dsn = database.add_role("eve", reads=("ada",), writes=("eve",))
    backend = open_agent(tmp_path, "eve", dsn, database.schema, tenants=("ada", "bob", "cy"))
    backend.memory_sync(False, None)
    found = backend.memory_search(Query(text="What opens the safe?", min_score=0.0))
    assert [hit.path for hit in found.hits] == ["postgres/ada/MEMORY.md"]
    assert str(found.warning).endswith(
        "tenant bob: there is none that this role may read; tenant cy: there is none that this role may read"
    )
    grant = f"memory-core postgres grant {database.name}_eve"
    assert found.action == f"ask the operator of the server to run: {grant} bob; {grant} cy"
    nothing = backend.memory_search(Query(text="zyzzyva"))
    assert (nothing.hits, nothing.hint) == ((), "the notes of bob, cy could not be searched")
    assert "ada-4711" in backend.memory_get("postgres/ada/MEMORY.md", 1, 10).text
    assert backend.memory_get("postgres/bob/MEMORY.md", 1, 10).status == "not_found"
    backend.memory_close()
    operator = database.operator()
    assert operator.revoke(f"{database.name}_eve", "ada")
    assert not operator.revoke(f"{database.name}_eve", "ada")
    with pytest.raises(InvalidArgument, match="sees every tenant"):
        operator.grant("postgres", "ada", write=False)
    operator.close()
    late = open_agent(tmp_path, "eve", dsn, database.schema, tenants=("ada",))
    found = late.memory_search(Query(text="What opens the safe?", min_score=0.0))
    assert (found.hits, "tenant ada: there is none" in str(found.warning)) == ((), True)
    late.memory_close()


def test_estimates_do_not_depend_on_what_others_hold(tmp_path: Path) -> None:
    database = make_database()
    dsns = {name: database.add_role(name, writes=(name,)) for name in ("ada", "bob")}
    folder = tmp_path / "bob/notes/memory"
    folder.mkdir(parents=True)
    for number in range(60):
        (folder / f"secret-{number:02}.md").write_text(f"{chr(97 + number % 26)}{number} opens vault {number}\n")
    backend = open_agent(tmp_path, "bob", dsns["bob"], database.schema)
    assert backend.memory_sync(False, None).added == 60
    backend.memory_close()
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute("ANALYZE")
        query = f"SELECT id FROM \"{database.schema}\".tenants WHERE name = 'bob'"
        ((bob,),) = admin.execute(query.encode()).fetchall()
    with psycopg.connect(dsns["ada"], autocommit=True) as ada:
        ada.execute(f'SET search_path = "{database.schema}"'.encode())

        def estimate(table: str, column: str, value: str) -> str:
            where = f"tenant_id = {bob} AND {column} < '{value}'"
            plan = ada.execute(f"EXPLAIN (FORMAT JSON) SELECT 1 FROM {table} WHERE {where}".encode()).fetchall()
            return str(plan).replace(value, "?")

        for table, column in (("notes", "path"), ("notes", "day"), ("chunks", "text"), ("word_forms", "word")):
            assert len({estimate(table, column, value) for value in ("!!!", "memory/secret-30", "zzz")}) == 1


def test_a_tenant_does_not_choose_ids_nor_hold_what_breaks_its_readers(attack: Attack) -> None:
    columns = "tenant_id, note_id, start_line, end_line, hash, words, context, text, units, links, tsv"
    chosen = (
        f"INSERT INTO chunks (id, {columns}) OVERRIDING SYSTEM VALUE SELECT 1 + max(id) OVER (), {columns} FROM chunks"
    )
    assert attack.run(chosen) == "InsufficientPrivilege"
    assert attack.run("UPDATE chunks SET id = DEFAULT") == "InsufficientPrivilege"
    assert attack.run("UPDATE notes SET id = DEFAULT") == "InsufficientPrivilege"
    broken = columns.replace("units", "ARRAY[0, 38, 1]")
    assert attack.run(f"INSERT INTO chunks ({columns}) SELECT {broken} FROM chunks") == "CheckViolation"


def test_vectors_of_wrong_dimensions_are_skipped(tmp_path: Path) -> None:
    database = make_database()
    dsns = {"ada": database.add_role("ada", writes=("ada",))}
    dsns["bob"] = database.add_role("bob", reads=("ada",), writes=("bob",))
    for name, dsn in dsns.items():
        backend = open_agent(tmp_path, name, dsn, database.schema)
        (tmp_path / name / "notes/MEMORY.md").write_text(f"The safe of {name} opens with {name}-4711.\n")
        backend.memory_sync(False, None)
        backend.memory_close()
    with psycopg.connect(dsns["ada"], autocommit=True) as ada:
        ada.execute(f'SET search_path = "{database.schema}"'.encode())
        ada.execute("INSERT INTO windows SELECT tenant_id, chunk_id, 100, 100, 'x' FROM windows")
        ada.execute(
            "INSERT INTO embeddings (tenant_id, space_id, hash, v) SELECT tenant_id, id, 'x', '[1,2]' FROM spaces"
        )
    reader = open_agent(tmp_path, "bob", dsns["bob"], database.schema, tenants=("ada",))
    found = reader.memory_search(Query(text="What opens the safe of bob?", min_score=0.0))
    assert "MEMORY.md" in [hit.path for hit in found.hits]
    reader.memory_close()


def test_a_tenant_of_another_workspace_never_passes_for_the_own_notes(tmp_path: Path) -> None:
    """As when the configuration of one agent was copied for another."""
    database = make_database()
    dsn = database.add_role("ada", writes=("ada",))
    for name, text in (("ada", "The gate opens with 4711.\n"), ("eve", "The gate is blue.\n")):
        backend = open_agent(tmp_path, name, dsn, database.schema, tenant="ada")
        if name == "ada":
            (tmp_path / name / "notes/MEMORY.md").write_text(text)
            assert backend.memory_sync(False, None).added == 1
            backend.memory_close()
    found = backend.memory_search(Query(text="What opens the gate?", min_score=0.0))
    assert [hit.path for hit in found.hits] == ["postgres/ada/MEMORY.md"]
    assert "holds the notes of" in str(found.warning)
    assert backend.memory_get("postgres/ada/MEMORY.md", 1, 9).text == "The gate opens with 4711."
    (told,) = backend.memory_status().warnings
    assert (f"/ada holds the notes of {tmp_path}/ada" in told, "memory.postgres.tenant" in told) == (True, True)
    section = PostgresConfig(dsn=Secret(dsn), schema=database.schema, tenant="ada", statement_timeout_ms=20_000)
    finding = diagnose(BackendContext(config=backend._config, settings=section))[-1]
    assert (finding.level, "memory.postgres.tenant" in finding.action) == ("fail", True)
    assert finding.message == f"ada holds the notes of {tmp_path}/ada/notes, not of {tmp_path}/eve/notes"
    (tmp_path / "eve/notes/MEMORY.md").write_text(text)
    assert backend.memory_get("MEMORY.md", 1, 9).text == "The gate is blue."
    for call in (backend.memory_status, lambda: backend.memory_search(Query(text="What opens the gate?"))):
        with pytest.raises(BackendRefused, match="holds the notes of"):  # builtin, which knows them, answers
            call()
    backend.memory_close()


def test_what_another_tenant_says_is_not_the_users_word(tmp_path: Path) -> None:
    database = make_database()
    shared = {"dsn": database.add_role("ada", writes=("ada", "bob")), "schema": database.schema, "tenants": ["ada"]}
    settings = {"memorySearch": {"provider": "static"}, "memory": {"backend": "postgres", "postgres": shared}}
    told = []
    for name in ("ada", "bob"):
        (tmp_path / name / "notes").mkdir(parents=True)
        source = ConfigSource(settings, workspace=tmp_path / name / "notes", state_dir=tmp_path / name)
        with Memory(source, agent=name) as memory:
            if name == "ada":
                memory.call_tool("memory_append", {"text": "The gate opens with 4711."})
            memory.sync()
            (hit,) = memory.call_tool("memory_search", {"query": "What opens the gate?"})["results"]
            told.append((hit["path"].split("/")[0], hit["origin"]["by"]))
    assert told == [("memory", "agent"), ("postgres", "import")]
