"""A memory that is exported and imported elsewhere is the same: notes byte for byte, every item, every version."""

from __future__ import annotations

import json
import os
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from memory_core import CallContext
from memory_core.config.load import ConfigSource
from memory_core.errors import InvalidArgument
from memory_core.items.items import Items
from memory_core.plugin.memory import Memory
from memory_core.plugin.moving import export_memory, import_memory
from memory_core.sources.writer import make_workspace
from tests.command import SAMPLE_NOTES, Command

NOTES = {
    "MEMORY.md": b"- The boiler is a Vaillant.\r\n- \xffodd bytes, and no line end",
    "memory/2026-03-01.md": "# 2026-03-01\n\n- Größe: 42 Äpfel\n".encode(),
    "memory/deep/er/plan b.md": b"\xef\xbb\xbf# Plan\n",
}


def open_memory(folder: Path) -> Memory:
    (folder / "notes").mkdir(parents=True, exist_ok=True)
    settings = {"memorySearch": {"provider": "none"}}
    return Memory(ConfigSource(settings, workspace=folder / "notes", state_dir=folder / "state"))


def write(folder: Path, notes: dict[str, bytes]) -> None:
    for path, data in notes.items():
        (folder / "notes" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "notes" / path).write_bytes(data)


def list_versions(memory: Memory) -> dict[str, list[bytes]]:
    from memory_core.history.history import History

    history = History(memory.config(), writable=False)
    found = {path: [history.load_bytes(each) for each in history.list_versions(path)] for path in NOTES}
    history.close()
    return found


@pytest.fixture
def home_memory(tmp_path: Path) -> Memory:
    """A memory with three notes of which one has changed twice and one is gone, and three items."""
    memory = open_memory(tmp_path / "a")
    write(tmp_path / "a", NOTES)
    memory.sync()
    write(tmp_path / "a", {"MEMORY.md": b"- The boiler is a Buderus.\n"})
    memory.sync()
    (tmp_path / "a" / "notes" / "memory" / "deep" / "er" / "plan b.md").unlink()
    write(tmp_path / "a", {"MEMORY.md": b"- The boiler is a Wolf.\n"})
    memory.sync()
    for text, kind in (("The boiler is serviced in May.", "fact"), ("I like short answers.", "preference")):
        memory.items.write(text, kind=kind, tags=["house"])
    memory.items.write("The boiler is serviced in June.", corrects=True)
    return memory


@pytest.mark.parametrize("name", ["export", "export.zip"])
def test_nothing_is_lost_on_the_way(home_memory: Memory, tmp_path: Path, name: str) -> None:
    done = export_memory(home_memory.config(), tmp_path / name)
    assert (done.notes, done.items, done.moments, done.left_out) == (2, 3, 3, ())
    with open_memory(tmp_path / "b") as other:
        came = import_memory(other.config(), tmp_path / name)
        assert (came.notes, came.items, came.moments, came.versions, came.aside) == (2, 3, 3, done.versions, ())
        other.sync()
        for path in ("MEMORY.md", "memory/2026-03-01.md"):
            there = (tmp_path / "b" / "notes" / path).read_bytes()
            assert there == (tmp_path / "a" / "notes" / path).read_bytes()
        assert list(other.items.export()) == list(home_memory.items.export())
        for path, versions in list_versions(home_memory).items():
            assert list_versions(other)[path][: len(versions)] == versions
        again = import_memory(other.config(), tmp_path / name)
        assert (again.notes, again.items, again.moments, again.versions) == (0, 0, 0, 0)
        second = export_memory(other.config(), tmp_path / "second")
        assert second.versions == done.versions
    home_memory.close()


def test_who_wrote_a_line_is_known_after_the_move(tmp_path: Path) -> None:
    theirs = {"text": "The lighthouse opens in May.", "target": "daily"}
    own = {"text": "The ferry to Kinsale leaves at nine.", "target": "longterm"}
    with open_memory(tmp_path / "a") as memory:
        assert memory.call_tool("memory_append", theirs)["appended"] == 1
        assert memory.call_tool("memory_append", own, CallContext(by="user"))["appended"] == 1
        export_memory(memory.config(), tmp_path / "export.zip")
    with open_memory(tmp_path / "b") as other:
        import_memory(other.config(), tmp_path / "export.zip")
        for asked, by in ((theirs, "agent"), (own, "user")):
            (hit,) = other.call_tool("memory_search", {"query": asked["text"], "maxResults": 1})["results"]
            assert (asked["text"] in hit["snippet"], hit["origin"]["by"]) == (True, by)


def test_what_is_there_stays(home_memory: Memory, tmp_path: Path) -> None:
    export_memory(home_memory.config(), tmp_path / "export")
    home_memory.close()
    with open_memory(tmp_path / "b") as other:
        write(tmp_path / "b", {"MEMORY.md": b"- Mine.\n"})
        other.sync()
        came = import_memory(other.config(), tmp_path / "export")
        assert came.aside == ("memory/imports/MEMORY.md",)
        assert came.moments == 3
        assert (tmp_path / "b" / "notes" / "MEMORY.md").read_bytes() == b"- Mine.\n"
        assert (
            tmp_path / "b" / "notes" / "memory" / "imports" / "MEMORY.md"
        ).read_bytes() == b"- The boiler is a Wolf.\n"


@pytest.mark.parametrize("first", ["older", "younger"])
def test_the_history_of_another_import_stays(tmp_path: Path, first: str) -> None:
    exports = {}
    for name, said in (("older", (b"- one\n", b"- two\n", b"- three\n")), ("younger", (b"- four\n",))):
        with open_memory(tmp_path / name) as memory:
            for each in said:
                write(tmp_path / name, {"MEMORY.md": each})
                memory.sync()
            exports[name] = export_memory(memory.config(), tmp_path / f"{name}.zip").moments
    second = "younger" if first == "older" else "older"
    with open_memory(tmp_path / "b") as other:
        assert import_memory(other.config(), tmp_path / f"{first}.zip").moments == exports[first]
        before = list_versions(other)["MEMORY.md"]
        came = import_memory(other.config(), tmp_path / f"{second}.zip")
        if first == "older":  # what happened later cannot be put in front of it
            assert (came.moments, came.versions) == (0, 0)
            assert came.left_out == ("what the history tells of 1 moment: the history here begins before that",)
            assert list_versions(other)["MEMORY.md"] == before
        else:
            assert (came.moments, came.versions, came.left_out) == (3, 3, ())
            assert list_versions(other)["MEMORY.md"] == [b"- one\n", b"- two\n", b"- three\n", b"- four\n"]
        there = list_versions(other)["MEMORY.md"]
        again = import_memory(other.config(), tmp_path / f"{first}.zip")
        assert (again.moments, again.versions, again.left_out) == (0, 0, ())
        assert list_versions(other)["MEMORY.md"] == there


def test_a_later_export_of_the_same_memory_adds_to_what_the_first_one_brought(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a") as memory, open_memory(tmp_path / "b") as other:
        for number, said in enumerate((b"- one\n", b"- two\n")):
            write(tmp_path / "a", {"MEMORY.md": said})
            memory.sync()
            export_memory(memory.config(), tmp_path / f"{number}.zip")
            came = import_memory(other.config(), tmp_path / f"{number}.zip")
            assert (came.moments, came.versions) == (1, 1)
        assert list_versions(other)["MEMORY.md"] == [b"- one\n", b"- two\n"]


def test_a_text_that_stood_twice_is_counted_once_on_both_sides(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a") as memory:
        for said in (b"- one\n", b"- two\n", b"- one\n"):
            write(tmp_path / "a", {"MEMORY.md": said})
            memory.sync()
        done = export_memory(memory.config(), tmp_path / "export")
    with open_memory(tmp_path / "b") as other:
        came = import_memory(other.config(), tmp_path / "export")
    assert (done.moments, done.versions) == (came.moments, came.versions) == (3, 2)


def test_what_init_has_made_gives_way(home_memory: Memory, tmp_path: Path) -> None:
    export_memory(home_memory.config(), tmp_path / "export")
    home_memory.close()
    make_workspace(tmp_path / "b" / "notes")
    with open_memory(tmp_path / "b") as other:
        export_memory(other.config(), tmp_path / "own")
        assert import_memory(other.config(), tmp_path / "own").notes == 0, "its own notes are there already"
        assert import_memory(other.config(), tmp_path / "export").aside == ()
    assert (tmp_path / "b" / "notes" / "MEMORY.md").read_bytes() == b"- The boiler is a Wolf.\n"


def test_one_sentence_tells_of_all_notes_that_are_served_from_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, {"MEMORY.md": b"- Mine.\n", "../vault/one.md": b"One.\n", "../vault/two.md": b"Two.\n"})
    settings = {"memorySearch": {"provider": "none", "extraPaths": [str(tmp_path / "vault")]}}
    with Memory(ConfigSource(settings, workspace=tmp_path / "notes", state_dir=tmp_path / "state")) as memory:
        done = export_memory(memory.config(), tmp_path / "export")
    assert done.notes == 1
    (told,) = done.left_out
    assert told.startswith("2 notes that are served from another place, which you copy yourself: ")
    assert told.endswith(".md and others")


@pytest.mark.parametrize(
    "path", ["../outside.md", "memory/../../outside.md", "/etc/outside.md", "notes.txt", ".git/config.md"]
)
def test_names_lead_nowhere_else(tmp_path: Path, path: str) -> None:
    hostile = tmp_path / "hostile.zip"
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("memory-core.json", json.dumps({"format": 1, "notes": [path]}))
        archive.writestr(f"notes/{path}", "x")
        archive.writestr("items.jsonl", "")
        archive.writestr("history.jsonl", "")
    with open_memory(tmp_path / "b") as other:
        came = import_memory(other.config(), hostile)
        assert came.notes == 0
        assert came.left_out
    assert not list(tmp_path.rglob("outside.md"))


def list_all(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("where", ["note", "folder", "items", "pipe"])
def test_no_link_leads_out_of_an_export(home_memory: Memory, tmp_path: Path, where: str) -> None:
    secret = tmp_path / "outside"
    secret.mkdir()
    export_memory(home_memory.config(), tmp_path / "export")
    home_memory.close()
    names = {
        "note": "notes/memory/2026-03-01.md",
        "folder": "notes/memory",
        "items": "items.jsonl",
        "pipe": "notes/MEMORY.md",
    }
    place = tmp_path / "export" / names[where]
    place.rename(secret / "moved")
    if where == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(secret / "moved")
    with open_memory(tmp_path / "b") as other:
        with pytest.raises(InvalidArgument, match="is no regular file" if where == "pipe" else "is a symbolic link"):
            import_memory(other.config(), tmp_path / "export")
        assert (list_all(tmp_path / "b" / "notes"), other.items.count()) == ([], 0)


@pytest.mark.parametrize("name", ["items.jsonl", "history.jsonl", "versions"])
def test_a_damaged_export_changes_nothing(home_memory: Memory, tmp_path: Path, name: str) -> None:
    export_memory(home_memory.config(), tmp_path / "export")
    home_memory.close()
    damaged = tmp_path / "export" / name
    if damaged.is_dir():
        next(damaged.iterdir()).unlink()
    else:
        damaged.write_bytes(damaged.read_bytes()[:-20])
    with open_memory(tmp_path / "b") as other:
        told = "line 3 of items.jsonl" if name == "items.jsonl" else "cannot be read as an export"
        with pytest.raises(InvalidArgument, match=told):
            import_memory(other.config(), tmp_path / "export")
        assert (list_all(tmp_path / "b" / "notes"), other.items.count()) == ([], 0)


def test_a_layer_of_notes_is_exported_without_the_items_of_the_person(tmp_path: Path) -> None:
    layers = {name: str(tmp_path / name) for name in ("person", "handbook")}
    settings = {"memorySearch": {"provider": "none"}, "memory": {"layers": layers}}
    for name in ("notes", "person", "handbook"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "MEMORY.md").write_text(f"- Of {name}.\n")
    with Memory(ConfigSource(settings, workspace=tmp_path / "notes", state_dir=tmp_path / "state")) as memory:
        memory.items.write("I like green tea.")
        for name, items in (("person", 1), ("handbook", 0)):
            layer = memory.config().find_named(name)
            assert layer is not None
            done = export_memory(layer, tmp_path / f"{name}.out")
            assert (done.notes, done.items, done.left_out) == (1, items, ())
        left_out = export_memory(memory.config(), tmp_path / "own.out").left_out
        assert [each.partition(",")[0] for each in left_out] == ["the layer 'person'", "the layer 'handbook'"]


def test_an_export_of_a_project_says_that_the_person_is_not_in_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though there is nothing of the person but items, which an export of the project has none of."""
    source = ConfigSource({"memorySearch": {"provider": "none"}}, state_dir=tmp_path / "state")
    shop = home / "shop"
    make_workspace(shop)
    monkeypatch.chdir(shop)
    with Memory(source) as memory:
        assert export_memory(memory.config(), tmp_path / "before").left_out == ()
        person = memory.config().find_named("person")
        assert person is not None
        with closing(Items(person, access="rw")) as items:
            items.write("I like green tea.")
        done = export_memory(memory.config(), tmp_path / "after")
        assert (done.items, len(done.left_out)) == (0, 1)
        assert done.left_out[0].endswith("memory-core export --layer person FOLDER|FILE.zip")
        assert export_memory(person, tmp_path / "person").items == 1


@pytest.mark.parametrize("target", ["a/notes/memory/moved", "a/notes/memory/../memory/moved.zip", "moved.tar.gz"])
def test_an_export_is_a_new_folder_or_zip_file_whose_notes_are_not_searched(tmp_path: Path, target: str) -> None:
    with open_memory(tmp_path / "a") as memory:
        write(tmp_path / "a", NOTES)
        before = list_all(tmp_path)
        with pytest.raises(InvalidArgument, match=r"where notes are searched|archive of another kind"):
            export_memory(memory.config(), tmp_path / target)
        assert list_all(tmp_path) == before
        assert export_memory(memory.config(), tmp_path / "a" / "notes" / "moved.2026-05-01").notes == len(NOTES)


@pytest.mark.parametrize("what", ["nothing", "text", "format", "folder"])
def test_what_is_no_export_is_refused(tmp_path: Path, what: str) -> None:
    source = tmp_path / "source"
    if what == "folder":
        source.mkdir()
        with (
            open_memory(tmp_path / "b") as other,
            pytest.raises(InvalidArgument, match=r"holds no memory-core\.json; it is no export"),
        ):
            import_memory(other.config(), source)
    if what == "text":
        source.write_text("no export")
    elif what == "format":
        source.mkdir()
        (source / "memory-core.json").write_text('{"format": 99}')
    with open_memory(tmp_path / "b") as other, pytest.raises(InvalidArgument, match="export"):
        import_memory(other.config(), source)


def test_the_commands(command: Command, tmp_path: Path) -> None:
    exported = command("export", str(tmp_path / "moved.zip"))
    assert exported.out.startswith(f"Written to {tmp_path / 'moved.zip'}: {SAMPLE_NOTES} notes, 0 items, ")
    assert "is there already" in command("export", str(tmp_path / "moved.zip")).error
    (tmp_path / "there").mkdir()
    other = Command(tmp_path / "there", tmp_path / "elsewhere")
    assert other("import", str(tmp_path / "moved.zip")).out.startswith(f"Imported: {SAMPLE_NOTES} notes, ")
    assert "there is no layer 'person' here" in other("export", str(tmp_path / "x"), "--layer", "person").error
