"""The layers of a session on a server: each in a tenant of its own, asked in one ranking as builtin asks them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.load import ConfigSource
from memory_core.plugin.memory import Memory
from memory_core.records import CallContext
from tests.servers.postgres import Database, make_database

GROUP = CallContext(session_key="agent:main:telegram:group:7", chat_type="group", channel="telegram")
NOTES = {
    "shop": "- Orders of the shop are kept in Postgres 16.\n\n- The release goes out on Thursdays.\n",
    "person": "- I write commit messages in English.\n\n- My dentist is Dr. Alder in Mill Lane.\n",
    "handbook": "- Expenses are filed in the ledger by the fifth.\n\n- Releases are announced on a Thursday.\n",
}
QUERIES = ("where are orders kept", "language of commit messages", "by when are expenses filed", "release on Thursday")


@pytest.fixture
def layers(home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A project, in which the session is, the person's memory and a further folder, which the configuration names."""
    places = {"shop": home / "shop", "person": home / ".memory-core" / "person", "handbook": home / "handbook"}
    for name, folder in places.items():
        folder.mkdir(parents=True)
        (folder / "MEMORY.md").write_text(NOTES[name])
    monkeypatch.chdir(places["shop"])
    return {"handbook": str(places["handbook"])}


@pytest.fixture
def database() -> Database:
    return make_database()


def open_memory(layers: dict[str, str], state: Path, database: Database | None, dsn: str = "") -> Memory:
    store = {"backend": "postgres", "postgres": {"dsn": dsn, "schema": database.schema}} if database else {}
    return Memory(
        ConfigSource({"memorySearch": {"provider": "static"}, "memory": {"layers": layers, **store}}, state_dir=state)
    )


def ask(memory: Memory, query: str, context: CallContext | None = None) -> list[tuple[str, str, float]]:
    found: list[dict[str, Any]] = memory.call_tool("memory_search", {"query": query}, context)["results"]
    return [(hit["layer"], hit["citation"], hit["score"]) for hit in found]


@pytest.fixture
def memory(layers: dict[str, str], home: Path, database: Database) -> Iterator[Memory]:
    dsn = database.add_role("of_all", writes=("main", "main.person", "main.handbook"))
    with open_memory(layers, home / "state", database, dsn) as opened:
        opened.sync()
        yield opened


def test_all_layers_are_ranked_as_builtin_ranks_them(memory: Memory, layers: dict[str, str], home: Path) -> None:
    with open_memory(layers, home / "other", None) as builtin:
        builtin.sync()
        answers = [[ask(each, query) for query in QUERIES] for each in (memory, builtin)]
    for mine, theirs in zip(*answers, strict=True):
        assert [hit[:2] for hit in mine] == [hit[:2] for hit in theirs]
        assert [hit[2] for hit in mine] == pytest.approx([hit[2] for hit in theirs], abs=1e-3)
    assert [answer[0][0] for answer in answers[0][:3]] == ["project", "person", "handbook"]
    assert {layer for layer, _, _ in answers[0][3]} >= {"project", "handbook"}


def test_a_group_sees_nothing_of_the_person(memory: Memory) -> None:
    assert "person" in {layer for layer, _, _ in ask(memory, "language of commit messages of the dentist")}
    found = ask(memory, "language of commit messages of the dentist", GROUP)
    assert "person" not in {layer for layer, _, _ in found}
    assert "error" in memory.call_tool("memory_get", {"path": "person:MEMORY.md"}, GROUP)


def test_a_layer_without_a_tenant_is_left_out_and_named(layers: dict[str, str], home: Path, database: Database) -> None:
    dsn = database.add_role("of_two", writes=("main", "main.handbook"))
    with open_memory(layers, home / "state", database, dsn) as opened:
        answer = opened.call_tool("memory_search", {"query": "by when are expenses filed"})
    assert answer["results"][0]["layer"] == "handbook"
    assert (
        "the layer 'person' is not searched: backend 'postgres': there is no tenant 'main.person'" in answer["warning"]
    )
    assert "main.person --write" in answer["action"]
