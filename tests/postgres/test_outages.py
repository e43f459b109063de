"""A server that is down, hung or restarted: builtin answers, and the server answers again by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memory_core.backends.selector import Selector
from memory_core.config.agent import AgentConfig
from memory_core.config.description import describe
from memory_core.config.load import load_config
from memory_core.config.settings import MemorySettings
from memory_core.errors import BackendUnavailable, SyncBusy
from memory_core.records import Query, SearchResult
from tests.postgres.agents import open_agent
from tests.servers.postgres import Database, RealServer, make_database
from tests.waiting import eventually

NOTE = "# Long-term\n\n- The dentist is on Harbour Street.\n"


class Host:
    """One agent behind the selector, with its clock."""

    def __init__(self, folder: Path, database: Database, **section: Any) -> None:
        workspace = folder / "notes"
        workspace.mkdir(parents=True)
        (workspace / "MEMORY.md").write_text(NOTE)
        self.now = 0.0
        dsn = section.pop("dsn", None) or database.add_role("host", writes=("main",))
        sections = {"postgres": {"dsn": dsn, "schema": database.schema, **section}}
        config = AgentConfig(
            agent="main", workspace=workspace, state_dir=folder / "state", store_path=folder / "state/i.sqlite",
            memory=replace(MemorySettings(), backend="postgres"), backend_sections=sections,
        )  # fmt: skip
        self.selector = Selector(config, clock=lambda: self.now)

    def search(self) -> SearchResult:
        return self.selector.search(Query(text="Where is the dentist?"))


@pytest.fixture
def server() -> Iterator[RealServer]:
    """A server of one test, which may be stopped."""
    made = RealServer()
    yield made
    made.stop()


@pytest.fixture
def host(tmp_path: Path, server: RealServer) -> Iterator[Host]:
    made = Host(tmp_path, make_database(server), statementTimeoutMs=1500, tenants=["ada"])
    made.selector.sync()
    assert made.search().backend == "postgres"
    yield made
    made.selector.close()


def test_builtin_answers_while_the_server_is_down_and_it_serves_again(host: Host, server: RealServer) -> None:
    server.kill()
    answer = host.search()
    assert (answer.backend, answer.hits[0].path) == ("builtin", "MEMORY.md")
    assert answer.backend_fallback is not None
    assert answer.backend_fallback.origin == "postgres"
    assert "the notes of ada are missing" in answer.backend_fallback.reason
    nothing = host.selector.search(Query(text="zyzzyva"))
    assert nothing.hint == "postgres could not be asked, see backendFallback"
    status = host.selector.status()
    assert (status.backend, "breaker" in status.details) == ("builtin", False)  # closed: two have failed
    with pytest.raises(BackendUnavailable, match="the notes of ada are missing"):
        host.selector.get("postgres/ada/MEMORY.md", 1, 9)
    server.start()
    host.now += 1000

    def serves() -> bool:
        host.now += 1000
        return host.search().backend == "postgres"

    assert eventually(serves)


def test_a_corrected_dsn_is_used_at_the_next_trial(tmp_path: Path) -> None:
    """As after a password was changed on the server; the process that searches goes on."""
    database = make_database()
    dsn, file = database.add_role("host", writes=("main",)), tmp_path / "main.dsn"
    file.write_text(dsn.replace("_host", "_gone"))
    host = Host(tmp_path, database, dsn=f"file:{tmp_path}/{{agentId}}.dsn")
    answer = host.search()
    assert (answer.backend, "does not exist" in str(answer.backend_fallback)) == ("builtin", True)
    file.write_text(dsn)

    def serves() -> bool:
        host.now += 1000
        return host.search().backend == "postgres"

    assert eventually(serves)
    host.selector.close()


def test_a_hung_server_is_waited_for_once(host: Host, server: RealServer) -> None:
    with server.suspended():
        began = time.monotonic()
        first = host.search()
        waited = time.monotonic() - began
        later = [host.search() for _ in range(3)]
    assert [first.backend, *(each.backend for each in later)] == ["builtin"] * 4
    assert waited >= 1.4
    assert "does not answer" in str(first.backend_fallback)


def test_a_push_under_an_older_lease_is_refused(tmp_path: Path) -> None:
    """A host that slept through its lease wakes up, and must not write over what another one has synced since."""
    database = make_database()
    dsn = database.add_role("host", writes=("ada",))
    late = open_agent(tmp_path, "ada", dsn, database.schema)
    note = tmp_path / "ada/notes/MEMORY.md"
    note.write_text("The gate is green.\n")
    late.memory_sync(False, None)
    with late._server.lock():
        stolen = open_agent(tmp_path, "ada", dsn, database.schema)
        with psycopg.connect(database.admin_dsn) as admin:
            admin.execute(f"UPDATE {database.schema}.tenants SET lease_until = now() - interval '1 second'".encode())
        note.write_text("The gate is brown.\n")
        assert stolen.memory_sync(False, None).changed == 1
        with pytest.raises(SyncBusy), late._server.write() as writer:
            writer.drop_files([row.id for row in writer.list_files()])
        with late._server.read() as reader:
            assert reader.count_chunks() == 1
    assert "brown" in stolen.memory_search(Query(text="gate")).hits[0].snippet
    late.memory_close()
    stolen.memory_close()


def test_the_dsn_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    secret = "postgresql://ada:hunter2@127.0.0.1:1/none"
    config = AgentConfig(
        agent="main", workspace=tmp_path / "notes", state_dir=tmp_path, store_path=tmp_path / "i.sqlite",
        memory=replace(MemorySettings(), backend="postgres"), backend_sections={"postgres": {"dsn": secret}},
    )  # fmt: skip
    selector = Selector(config)
    shown = f"{selector.search(Query(text='x'))}{selector.status()}{selector.diagnose()}{selector.sync()}"
    document = {"memory": {"backend": "postgres", "postgres": {"dsn": secret}}}
    shown += f"{describe(load_config(document))}"
    assert "hunter2" not in shown
    selector.close()
