"""A session of a project sees the person's memory and added folders beside the project's notes, in one ranking."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.load import ConfigSource
from memory_core.plugin.memory import Memory
from memory_core.records import CallContext

GROUP = CallContext(session_key="agent:main:telegram:group:7", chat_type="group", channel="telegram")
READER = CallContext(access="ro")
NOTES = {
    "shop": "- Orders of the shop are kept in Postgres 16.\n- The release goes out on Thursdays.\n",
    "person": "- I write commit messages in English.\n- My dentist is Dr. Alder in Mill Lane.\n",
    "handbook": "- Expenses are filed in the ledger by the fifth.\n",
}


@pytest.fixture
def folders(home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A project, the person's memory at its usual place, and a further folder; the project is the current folder."""
    places = {"shop": home / "shop", "person": home / ".memory-core" / "person", "handbook": home / "handbook"}
    for name, folder in places.items():
        (folder / "memory").mkdir(parents=True)
        (folder / "MEMORY.md").write_text(NOTES[name])
    monkeypatch.chdir(places["shop"])
    return places


@pytest.fixture
def memory(folders: dict[str, Path], home: Path) -> Iterator[Memory]:
    document = {"memorySearch": {"provider": "static"}, "memory": {"layers": {"handbook": str(folders["handbook"])}}}
    with Memory(ConfigSource(document, state_dir=home / "state")) as opened:
        yield opened


def search(memory: Memory, query: str, context: CallContext | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory.call_tool("memory_search", {"query": query}, context)["results"]
    return found


def test_one_ranking_of_all_layers(memory: Memory) -> None:
    for query, path, layer in (
        ("where are orders kept", "MEMORY.md", "project"),
        ("language of commit messages", "person:MEMORY.md", "person"),
        ("by when are expenses filed", "handbook:MEMORY.md", "handbook"),
    ):
        first = search(memory, query)[0]
        assert (first["path"], first["layer"], first["citation"].partition("-")[0]) == (path, layer, f"{path}#L1")


def test_a_path_names_its_layer(memory: Memory) -> None:
    assert memory.call_tool("memory_get", {"path": "person:MEMORY.md#L2"})["text"] == NOTES["person"].split("\n")[1]
    assert memory.call_tool("memory_get", {"path": "project:MEMORY.md"})["path"] == "MEMORY.md"
    assert memory.call_tool("memory_get", {"path": "person:memory/none.md"})["status"] == "not_found"
    assert "error" in memory.call_tool("memory_get", {"path": "person:../../shop/MEMORY.md"})


@pytest.mark.parametrize("context", [GROUP, READER])
def test_other_sessions_see_nothing_of_the_person(memory: Memory, context: CallContext) -> None:
    search(memory, "commit messages")  # so that all is indexed
    assert [hit["layer"] for hit in search(memory, "by when are expenses filed", context)] == ["handbook"]
    assert all(
        "person" not in hit["path"] for hit in search(memory, "language of commit messages of the dentist", context)
    )
    assert "error" in memory.call_tool("memory_get", {"path": "person:MEMORY.md"}, context)
    assert "English" not in memory.session_context(context)
    assert "English" not in memory.recall(context, "In which language are commit messages?")


def test_the_session_context_has_the_persons_notes_too(memory: Memory) -> None:
    told = memory.session_context()
    assert told.index("MEMORY.md:\n> - Orders") < told.index("person:MEMORY.md:\n> - I write")
    assert "ledger" not in told
    assert "English" in memory.recall(None, "In which language are commit messages?")


def test_explain_names_layers(memory: Memory) -> None:
    found = memory.explain("where are orders kept", "person:MEMORY.md", 2)
    assert found.passages[0].path == "MEMORY.md"
    assert found.place is not None
    assert found.place.verdict.cause == "low_score"


def test_the_status_counts_the_notes_of_each_layer(memory: Memory, folders: dict[str, Path]) -> None:
    (folders["handbook"] / "memory" / "travel.md").write_text("- Trains are booked in second class.\n")
    memory.sync()
    details = memory.status().details
    assert details["layer person"] == f"1 note in {folders['person']}"
    assert details["layer handbook"] == f"2 notes in {folders['handbook']}"


def test_one_layer_answers_as_ever(memory: Memory, folders: dict[str, Path], home: Path) -> None:
    named = Memory(
        ConfigSource({"memorySearch": {"provider": "static"}}, workspace=folders["shop"], state_dir=home / "s")
    )
    with named:
        found = search(named, "where are orders kept")
        assert [hit["path"] for hit in found] == ["MEMORY.md"]
        assert all("layer" not in hit for hit in found)
        assert "error" in named.call_tool("memory_get", {"path": "person:MEMORY.md"})
        assert "English" not in named.session_context()


def test_a_layer_that_cannot_be_read_is_left_out(memory: Memory, folders: dict[str, Path], home: Path) -> None:
    search(memory, "commit messages")
    (index,) = [
        each for each in (home / "state" / "memory-core").glob("main-*.sqlite") if b"Dr. Alder" in each.read_bytes()
    ]
    memory.close()
    index.write_bytes(b"no index" * 1000)
    document = {"memorySearch": {"provider": "static", "sync": {"onSearch": False}}}
    with Memory(ConfigSource(document, state_dir=home / "state")) as opened:
        answer = opened.call_tool("memory_search", {"query": "where are orders kept"})
        assert answer["results"][0]["path"] == "MEMORY.md"
        assert "the layer 'person' is not searched" in answer["warning"]


@pytest.mark.parametrize("place", [None, "a file"])
def test_a_layer_without_a_folder_is_told(folders: dict[str, Path], home: Path, place: str | None) -> None:
    lost = home / "handbok"
    if place is not None:
        lost.write_text(place)
    told = f"{lost} {'does not exist' if place is None else 'is no folder'}, so the layer handbook is not searched"
    document = {"memorySearch": {"provider": "static"}, "memory": {"layers": {"handbook": str(lost)}}}
    with Memory(ConfigSource(document, state_dir=home / "state")) as opened:
        answer = opened.call_tool("memory_search", {"query": "where are orders kept"})
        assert (answer["results"][0]["path"], answer["warning"]) == ("MEMORY.md", told)
        assert told in [each.message for each in opened.diagnose() if each.level == "warn"]
        assert told in opened.status().warnings
        (folders["person"] / "MEMORY.md").unlink()
        (folders["person"] / "memory").rmdir()
        folders["person"].rmdir()  # it begins with its first note
        assert opened.call_tool("memory_search", {"query": "where are orders kept"})["warning"] == told


def test_the_past_of_all_layers(memory: Memory, folders: dict[str, Path]) -> None:
    memory.sync()
    (folders["person"] / "MEMORY.md").write_text("- I write commit messages in French.\n")
    then = datetime.now().astimezone().isoformat()
    memory.sync()
    answer = memory.call_tool("memory_search", {"query": "language of commit messages", "asOf": then})
    first = answer["results"][0]
    assert (first["path"], first["layer"], first["now"]["status"]) == ("person:MEMORY.md", "person", "changed")
    assert "English" in first["snippet"]
    past = memory.call_tool("memory_get", {"path": "person:MEMORY.md", "asOf": then})
    assert (past["path"], past["now"]) == ("person:MEMORY.md", "changed")
    assert "English" in past["text"]


def test_a_layer_begins_with_its_first_note(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "shop").mkdir()
    (home / "shop" / "MEMORY.md").write_text(NOTES["shop"])
    monkeypatch.chdir(home / "shop")
    with Memory(ConfigSource({"memorySearch": {"provider": "none"}}, state_dir=home / "state")) as opened:
        assert "layer" not in search(opened, "orders")[0]
        assert not (home / ".memory-core").exists()
        (home / ".memory-core" / "person").mkdir(parents=True)
        (home / ".memory-core" / "person" / "MEMORY.md").write_text(NOTES["person"])
        assert search(opened, "commit messages")[0]["layer"] == "person"
