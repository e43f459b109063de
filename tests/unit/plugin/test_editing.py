"""Notes that a host's model edits as files: the slot changes one as a whole, and the history has it as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.load import load_config
from memory_core.errors import MemoryCoreError
from memory_core.history.history import History
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext

CONFIG = {"memorySearch": {"provider": "none", "sync": {"watch": False}}}


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[MemorySlot]:
    (tmp_path / "ws").mkdir()
    with MemorySlot(CONFIG, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as slot:
        yield slot


def test_a_note_is_made_changed_and_removed_and_the_history_has_it(slot: MemorySlot, tmp_path: Path) -> None:
    note = tmp_path / "ws" / "memory" / "jobs" / "pier.md"
    for text, status in (("One.\n", "created"), ("One.\n", "unchanged"), ("Two.\n", "changed"), (None, "removed")):
        done = slot.change_note("memory/jobs/pier.md", lambda _, text=text: text)  # type: ignore[misc]
        assert done == {"path": "memory/jobs/pier.md", "status": status}
        assert (note.read_text(encoding="utf-8") if note.exists() else None) == text
    assert slot.change_note("memory/jobs/pier.md", lambda text: text)["status"] == "unchanged"
    config = load_config(CONFIG, workspace=tmp_path / "ws", state_dir=tmp_path / "state").agent("main")
    with closing(History(config, writable=False)) as history:
        kept = [history.load_text(each).text for each in history.list_versions("memory/jobs/pier.md")]
    assert kept == ["One.\n", "Two.\n"]


def test_line_ends_and_a_byte_order_mark_stay(slot: MemorySlot, tmp_path: Path) -> None:
    note = tmp_path / "ws" / "MEMORY.md"
    note.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert slot.change_note("MEMORY.md", lambda text: f"{text}three\n")["status"] == "changed"
    assert note.read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n"
    note.write_bytes(b"one\r\ntwo\n")
    slot.change_note("MEMORY.md", lambda text: f"{text}\ud800\n")
    assert note.read_bytes() == "one\r\ntwo\n\ufffd\n".encode()


def test_what_is_no_utf8_is_left_alone(slot: MemorySlot, tmp_path: Path) -> None:
    (tmp_path / "ws" / "MEMORY.md").write_bytes(b"caf\xe9\n")
    assert "not UTF-8" in slot.change_note("MEMORY.md", lambda text: f"{text}more\n")["error"]
    assert (tmp_path / "ws" / "MEMORY.md").read_bytes() == b"caf\xe9\n"


def test_an_editor_that_saves_meanwhile_wins(slot: MemorySlot, tmp_path: Path) -> None:
    note = tmp_path / "ws" / "MEMORY.md"
    note.write_text("one\n", encoding="utf-8")

    for number, new in enumerate(("two\n", None)):

        def change(_: str | None, number: int = number, new: str | None = new) -> str | None:
            note.write_text(f"the editor's {number}\n", encoding="utf-8")
            return new

        assert "was changed meanwhile" in slot.change_note("MEMORY.md", change)["error"]
        assert note.read_text(encoding="utf-8") == f"the editor's {number}\n"


def test_a_function_that_fails_is_the_hosts_own_and_no_defect(
    slot: MemorySlot, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: str | None) -> str:
        raise KeyError("pier")

    def count(_: str | None) -> Any:
        return 5

    for change, told in ((fail, "the function raised KeyError: 'pier'"), (count, "returns a text or None, not int")):
        done = slot.change_note("memory/list.md", change)
        assert (done["code"], told in done["error"]) == ("invalid_argument", True)
    assert "Traceback" not in caplog.text


def test_writers_at_once_lose_nothing(slot: MemorySlot, tmp_path: Path) -> None:
    def add(number: int) -> None:
        while "error" in slot.change_note("memory/list.md", lambda text: f"{text or ''}{number}\n"):
            pass

    threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((tmp_path / "ws/memory/list.md").read_text(encoding="utf-8").split()) == list("012345")


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x.md", "memory/../../x.md", "memory/x.txt", "memory/.x.md", "x.md", "memory"]
)
def test_no_other_file_is_written(path: str, slot: MemorySlot, tmp_path: Path) -> None:
    done = slot.change_note(path, lambda _: "x")
    assert done["denied"]
    assert not list((tmp_path / "ws").rglob("*"))
    assert not (tmp_path / "x.md").exists()


def test_a_link_is_not_followed(slot: MemorySlot, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "ws" / "memory").mkdir()
    (tmp_path / "ws" / "memory" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "ws" / "memory" / "gone.md").symlink_to(tmp_path / "outside" / "gone.md")
    for path in ("memory/out/x.md", "memory/gone.md"):
        assert "symbolic link" in slot.change_note(path, lambda _: "x")["error"]
    assert not list((tmp_path / "outside").iterdir())


def test_what_the_change_raises_is_told_and_nothing_is_written(slot: MemorySlot, tmp_path: Path) -> None:
    def refuse(_: str | None) -> str:
        raise MemoryCoreError("not today")

    assert slot.change_note("MEMORY.md", refuse)["error"] == "not today"
    assert not (tmp_path / "ws" / "MEMORY.md").exists()


def test_sessions_write_what_they_may(slot: MemorySlot) -> None:
    group = CallContext(session_key="agent:main:group:7", chat_type="group")
    assert slot.change_note("MEMORY.md", lambda _: "x", group)["denied"]
    assert slot.change_note("memory/x.md", lambda _: "x", group)["status"] == "created"
    for access in ("ro", "none"):
        assert slot.change_note("memory/y.md", lambda _: "x", CallContext(access=access))["denied"]
