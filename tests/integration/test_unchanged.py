"""A search finds every edit: at once where it looks at the files; soon where they are watched, and only changes cost a look."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from memory_core.sync.watcher import LOCAL, find_file_system, read_mounts
from tests.waiting import eventually


class Searched:
    """A backend that searches as a user's does, with a budget that a busy machine keeps."""

    def __init__(self, folder: Path, **search: Any) -> None:
        self.folder = folder
        self.memory = folder / "ws" / "memory"
        self.memory.mkdir(parents=True, exist_ok=True)
        sync = SyncSettings(on_search_budget_ms=60_000, watch_debounce_ms=3_600_000)  # only searches sync
        self.config = AgentConfig(
            agent="main", workspace=folder / "ws", state_dir=folder / "state", store_path=folder / "state" / "x.sqlite",
            search=SearchSettings(provider="none", sync=sync, **search),
        )  # fmt: skip
        self.backend = BuiltinBackend(BackendContext(config=self.config))

    def find(self, word: str) -> set[str]:
        result = self.backend.memory_search(Query(text=word, min_score=0.0))
        assert not result.stale
        return {hit.path for hit in result.hits}

    def finds(self, word: str, paths: set[str]) -> bool:
        """Search; where the files are watched, until the system has told of what happened last."""
        if self.backend.memory_status().details["watching"] == "events":
            return eventually(lambda: self.find(word) == paths)
        return self.find(word) == paths

    def settle(self) -> None:
        """Search until the system has told of all that happened."""
        for _ in range(3):
            self.find("violin")
            time.sleep(0.1)


@pytest.fixture(params=["alone", "watched"])
def searched(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Searched]:
    made = Searched(tmp_path)
    (made.memory / "a.md").write_text("A violin plays.\n")
    (made.memory / "b.md").write_text("A lantern glows.\n")
    if request.param == "watched":
        made.backend.memory_start()
    made.settle()
    yield made
    made.backend.memory_close()


def syncs(caplog: pytest.LogCaptureFixture) -> int:
    return len([record for record in caplog.records if record.getMessage().startswith("sync of")])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each search looks at the files")
def test_nothing_changed_is_known_without_a_sync(searched: Searched, caplog: pytest.LogCaptureFixture) -> None:
    if find_file_system(str(searched.folder.resolve()), read_mounts()) not in LOCAL:
        pytest.skip("the folder for temporary files is on no local file system")
    searched.backend.memory_start()
    searched.settle()
    caplog.set_level(logging.INFO, "memory_core.sync")
    for _ in range(10):
        assert searched.find("violin") == {"memory/a.md"}
    assert syncs(caplog) == 0
    (searched.memory / "a.md").write_text("A kettle whistles.\n")
    assert searched.finds("kettle", {"memory/a.md"})
    assert 1 <= syncs(caplog) <= 2  # a file is opened, and closed a moment later


def test_each_of_many_edits_is_found_by_the_next_search(searched: Searched) -> None:
    """Of one length within one second, so that only the finest times tell them apart."""
    for n in range(100, 140):
        (searched.memory / "a.md").write_text(f"A word{n} here.\n")
        assert searched.finds(f"word{n}", {"memory/a.md"})
        time.sleep(0.005)  # file systems of older kernels count in steps of 4 ms
    assert searched.finds("violin", set())


def test_files_and_folders_that_come_go_and_come_back(searched: Searched) -> None:
    for n in range(3):
        (searched.memory / "x" / "y").mkdir(parents=True)
        (searched.memory / "x" / "y" / "c.md").write_text(f"A quokka{n}.\n")
        assert searched.finds(f"quokka{n}", {"memory/x/y/c.md"})
        (searched.memory / "x" / "y" / "c.md").write_text(f"A wombat{n}.\n")
        assert searched.finds(f"wombat{n}", {"memory/x/y/c.md"})
        shutil.rmtree(searched.memory / "x")
        assert searched.finds(f"wombat{n}", set())
    searched.memory.rename(searched.folder / "away")
    assert searched.finds("lantern", set())
    (searched.folder / "away").rename(searched.memory)
    assert searched.finds("lantern", {"memory/b.md"})


def test_a_note_is_changed_through_another_name_of_it(searched: Searched) -> None:
    (searched.folder / "other.md").hardlink_to(searched.memory / "a.md")
    (searched.memory / "new").mkdir()  # all files are looked at, and the second name is met
    searched.settle()
    for n in range(3):
        (searched.folder / "other.md").write_text(f"A quokka{n}.\n")
        assert searched.finds(f"quokka{n}", {"memory/a.md"})


def test_a_read_that_fails_once_is_tried_again(searched: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a process has too many files open: no event tells that it has fewer now."""

    open_really = os.open

    def refuse(path: str, *arguments: Any, **options: Any) -> int:
        if str(path).endswith(".md"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_really(path, *arguments, **options)

    (searched.memory / "a.md").write_text("A kettle whistles.\n")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        report = searched.backend.memory_sync(force=False, progress=None)
    assert [failure.path for failure in report.failures] == ["memory/a.md"]
    assert searched.finds("kettle", {"memory/a.md"})


def test_a_session_log_is_changed_through_another_name_of_it(tmp_path: Path) -> None:
    searched = Searched(tmp_path, sources=("memory", "sessions"))
    searched.config.sessions_dir.mkdir(parents=True)
    log = searched.config.sessions_dir / "one.jsonl"
    line = '{"type":"message","message":{"role":"user","content":"The quokka sleeps."}}\n'
    log.write_text(line * 60)
    (tmp_path / "other").hardlink_to(log)
    searched.settle()
    with (tmp_path / "other").open("a") as file:
        file.write(line.replace("quokka", "wombat") * 60)
    assert searched.finds("wombat", {"sessions/one.jsonl"})
    searched.backend.memory_close()


def test_a_session_log_that_grows_is_found(tmp_path: Path) -> None:
    searched = Searched(tmp_path, sources=("memory", "sessions"))
    searched.settle()
    searched.config.sessions_dir.mkdir(parents=True)
    log = searched.config.sessions_dir / "one.jsonl"
    line = '{"type":"message","message":{"role":"user","content":"The quokka sleeps."}}\n'
    log.write_text(line * 60)  # more than `deltaMessages`
    assert searched.finds("quokka", {"sessions/one.jsonl"})
    searched.settle()
    with log.open("a") as file:
        file.write(line.replace("quokka", "wombat") * 60)
    assert searched.finds("wombat", {"sessions/one.jsonl"})
    searched.backend.memory_close()


def test_another_process_may_empty_the_index(searched: Searched) -> None:
    other = BuiltinBackend(BackendContext(config=searched.config))
    (searched.memory / "a.md").write_text("A kettle whistles.\n")
    other.memory_sync(force=True, progress=None)
    other.memory_close()
    assert searched.finds("kettle", {"memory/a.md"})
    searched.settle()
    for file in searched.config.store_path.parent.glob("x.sqlite*"):
        file.unlink()
    assert searched.finds("kettle", {"memory/a.md"})


def test_an_unreadable_note_does_not_hide_the_edits_of_others(searched: Searched) -> None:
    (searched.memory / "bad.md").write_bytes(b"\xff\xfeU\0T\0F\0")
    searched.settle()
    (searched.memory / "a.md").write_text("A kettle whistles.\n")
    assert searched.finds("kettle", {"memory/a.md"})
    (searched.memory / "bad.md").write_text("A quokka after all.\n")
    assert searched.finds("quokka", {"memory/bad.md"})


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_no_descriptor_outlives_close(tmp_path: Path) -> None:
    def queues() -> int:
        found = 0
        for fd in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the one that lists them
                found += "inotify" in str(fd.readlink())
        return found

    searched = Searched(tmp_path)
    before = queues()
    searched.backend.memory_start()
    searched.settle()
    assert queues() > before
    searched.backend.memory_close()
    assert queues() == before
