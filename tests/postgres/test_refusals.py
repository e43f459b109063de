"""Tenants that take no notes of a workspace: builtin answers from them, says why, and the operator has a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_core.cli.main import main
from memory_core.cli.output import print_report
from memory_core.config.load import ConfigSource
from memory_core.plugin.memory import Memory
from tests.servers.postgres import Database, make_database


@pytest.fixture
def database() -> Database:
    return make_database()


def open_memory(folder: Path, name: str, database: Database, dsn: str, **section: Any) -> Memory:
    """Open the memory of an agent whose workspace and state are in `folder/name`; its tenant is `main`."""
    (folder / name / "notes").mkdir(parents=True, exist_ok=True)
    shared = {"dsn": dsn, "schema": database.schema, "statementTimeoutMs": 20_000, **section}
    settings = {"memorySearch": {"provider": "static"}, "memory": {"backend": "postgres", "postgres": shared}}
    return Memory(ConfigSource(settings, workspace=folder / name / "notes", state_dir=folder / name))


def ask(memory: Memory, query: str) -> dict[str, Any]:
    found: dict[str, Any] = memory.call_tool("memory_search", {"query": query})
    return found


def test_builtin_finds_what_a_tenant_does_not_take(
    tmp_path: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn = database.add_role("ada", writes=("main",))
    with open_memory(tmp_path, "old", database, dsn) as memory:
        memory.call_tool("memory_append", {"text": "The old build host is named egret."})
        memory.sync()
    with open_memory(tmp_path, "new", database, dsn, tenants=["team"]) as memory:
        memory.call_tool("memory_append", {"text": "The new build host is named heron."})
        found = ask(memory, "name of the new build host")
        assert "heron" in found["results"][0]["snippet"]
        reason = found["backendFallback"]["reason"]
        wanted = "it holds the notes of"
        assert (wanted in reason, "the notes of team are missing" in reason) == (True, True)
        assert "a tenant of its own" in reason
        assert [ask(memory, "build host")["backend"] for _ in range(4)] == ["builtin"] * 4
        print_report(memory.sync(), {})
        assert capsys.readouterr().out.startswith("Indexed in builtin alone: 1 ")
        status = memory.status()
        assert (status.backend, status.indexed, status.files) == ("builtin", True, 1)
        assert wanted in str(status.backend_fallback)


@pytest.mark.parametrize("own", ["", "The test host is named heron."])
def test_a_role_that_only_reads_finds_what_the_tenant_holds(own: str, tmp_path: Path, database: Database) -> None:
    if own:
        (tmp_path / "ada/notes/memory").mkdir(parents=True)
        (tmp_path / "ada/notes/memory/2026-01-02.md").write_text(own)
    with open_memory(tmp_path, "ada", database, database.add_role("ada", writes=("main",))) as memory:
        memory.call_tool("memory_append", {"text": "The build host is named egret."})
        memory.sync()
    name = "ada" if own else "eve"  # the workspace itself, or one without notes
    with open_memory(tmp_path, name, database, database.add_role("eve", reads=("main",))) as memory:
        found = ask(memory, "name of the build host")
        assert (found["backend"], "egret" in found["results"][0]["snippet"]) == ("postgres", True)


def test_a_role_without_a_grant_is_told_of_it(tmp_path: Path, database: Database) -> None:
    dsn = database.add_role("eve")
    with open_memory(tmp_path, "eve", database, dsn) as memory:
        memory.call_tool("memory_append", {"text": "The build host is named egret."})
        reason = ask(memory, "name of the build host")["backendFallback"]["reason"]
        (finding,) = [each for each in memory.diagnose() if each.subject.startswith("postgres")]
    assert f"the role '{database.name}_eve' was granted no tenant in the schema {database.schema}" in reason
    assert finding.action.endswith(f"run: memory-core postgres grant {database.name}_eve main --write")


def test_an_operator_is_told_whose_dsn_was_used(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where the agent's DSN is configured on the operator's machine: it goes before the variable."""
    (tmp_path / "dsn").write_text(database.add_role("ada", writes=("main",)))
    config = tmp_path / "config.json5"
    config.write_text(f"{{ memory: {{ postgres: {{ dsn: 'file:{tmp_path}/dsn', schema: '{database.schema}' }} }} }}")
    monkeypatch.setenv("MEMORY_CORE_POSTGRES_DSN", database.admin_dsn)
    assert main(["postgres", "status", "--config", str(config)]) == 1
    told = capsys.readouterr().err
    assert f"to the role '{database.name}_ada' at " in told
    assert f"by memory.postgres.dsn (file:{tmp_path}/dsn)" in told
    config.write_text("{}")
    assert main(["postgres", "status", "--config", str(config), "--schema", database.schema]) == 0


def test_a_note_of_another_tenant_is_explained(tmp_path: Path, database: Database) -> None:
    with open_memory(tmp_path, "ada", database, database.add_role("ada", writes=("ada",)), tenant="ada") as memory:
        path = memory.call_tool("memory_append", {"text": "The customer was charged twice."})["path"]
        memory.sync()
    dsn = database.add_role("bob", reads=("ada",), writes=("main",))
    with open_memory(tmp_path, "bob", database, dsn, tenants=["ada"]) as memory:
        shown = ask(memory, "customer charged twice")["results"][0]
        assert shown["path"] == f"postgres/ada/{path}"
        found = memory.explain("customer charged twice", f"{shown['path']}:{shown['startLine']}")
        assert (found.verdict.stage, found.verdict.reason) == ("shown", "it is in result 1")
        missing = memory.explain("customer charged twice", "postgres/ada/memory/none.md")
        assert missing.verdict.cause == "excluded"
